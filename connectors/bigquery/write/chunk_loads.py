"""Loads each chunk of a backfill by a job that is named after the chunk.

So a chunk is in its table once and whole, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import secrets

from connect.api.optional.bulk import BulkChunk
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.merge.halving import write_by_halves
from connectors.bigquery.merge.staging import EXPIRES_AFTER_S, staging_name
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.table_facts import NewTable
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.appending import loadable


def chunk_name(chunk: BulkChunk, target: str, created_ms: int) -> str:
    """Return a short name for a chunk and its table. If the table is dropped and made anew, the name is another one."""
    text = json.dumps([chunk.job, chunk.id, target, created_ms])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class ChunkLoads:
    """Loads chunks into tables. Owned by one thread."""

    def __init__(self, warehouse: Warehouse, staging_suffix: str) -> None:
        self._warehouse = warehouse
        self._suffix = staging_suffix

    def write(self, chunk: BulkChunk, batch: SealedBatch, created_ms: int) -> tuple[int, Refusals]:
        """Load the rows of a chunk. Return how many of them the table has, and which ones it does not take.

        `created_ms` is the time at which the table was made. Raise RefusedJobError if BigQuery takes the rows one by
        one, but not together.
        """
        name = f"kafka-connect-chunk-{chunk_name(chunk, batch.target, created_ms)}"
        try:
            rows = self._load(batch, name)
        except RefusedJobError:
            refused = self._refused(batch)
            if not refused:
                raise
            taken = batch.without(refused)
            return (self._load(taken, name) if len(taken) else 0), refused
        # The job has fewer rows if an earlier call found refused rows, and loaded the others under the same name.
        return rows, self._refused(batch) if rows < len(batch) else {}

    def _load(self, batch: SealedBatch, name: str) -> int:
        columns, content = loadable(batch)
        return self._warehouse.append(batch.target, columns, content, name)

    def _refused(self, batch: SealedBatch) -> Refusals:
        """Return the rows that BigQuery refuses even alone.

        The rows are loaded into a trial table that has the same columns, and that nobody else sees.
        """
        trial = staging_name(batch.target, self._suffix, secrets.token_hex(12))
        self._warehouse.create(NewTable(trial, batch.columns, expires_after_s=EXPIRES_AFTER_S))

        def load(part: SealedBatch) -> None:
            columns, content = loadable(part)
            self._warehouse.fill(trial, columns, content, f"kafka-connect-trial-{secrets.token_hex(12)}", is_new=True)

        try:
            return write_by_halves(batch, load)
        finally:
            self._warehouse.drop(trial)
