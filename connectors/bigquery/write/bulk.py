"""Writes the chunks of a backfill into tables, each row once, by the rules that the sink's tasks follow.

With dedup, a chunk is staged and merged like a task's batch; a MERGE that runs again changes nothing. Without dedup, a
load job that is named after the chunk adds its rows. Chunks come in any order and from several processes.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping

from connect.api.errors import ConfigError, RetriableError
from connect.api.optional.bulk import BulkChunk, BulkSinkContext, WrittenChunk
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.modes.mode import TableWriter
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.client import open_warehouse
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.chunk_loads import ChunkLoads
from connectors.bigquery.write.intake import taken_in
from connectors.bigquery.write.refused_records import given_up
from connectors.bigquery.write.table_buffers import TableBuffer
from connectors.bigquery.write.table_writers import table_writer_of
from connectors.bigquery.write.tables_ready import TargetTables
from connectors.bigquery.write.written_chunks import WrittenChunks


class BigQueryBulkWriter:
    """Writes the chunks of a backfill. Owned by one thread."""

    def __init__(self, config: BigQuerySinkConfig, ctx: BulkSinkContext) -> None:
        """Connect to nothing yet. Raise ConfigError if with these settings rows would depend on the order of chunks."""
        if (error := config.mode.any_order_error) is not None:
            raise error
        self._config = config
        self._ctx = ctx
        # The random name gives this process its own staging tables. Another process that writes the same chunk would
        # otherwise drop a staging table before it is merged.
        self._role = Role(f"backfill-{secrets.token_hex(8)}", 0, 1, config.staging_suffix)
        self._writer: TableWriter | None = None
        self._opened: Warehouse | None = None

    def write(self, chunk: BulkChunk, batches: Iterable[Batch], deadline: Deadline) -> WrittenChunk:
        """Merge or load the rows of a chunk; see `BulkWriter`."""
        if not chunk.is_stable:
            _require_no_places(self._config)
        warehouse = self._warehouse
        with warehouse.within(deadline):
            targets, written = TargetTables(self._config, warehouse, in_any_order=True), WrittenChunks(warehouse)
            buffers = self._gathered(batches, targets)
            for buffer in buffers:
                self._write(chunk, buffer, targets, written)
            return WrittenChunk(written.rows_of([chunk])[chunk.id] if buffers else 0, 0)

    def rows_of(self, chunks: Collection[BulkChunk], deadline: Deadline) -> Mapping[str, int]:
        """Return how many rows were written of each chunk, counting only tables that still exist.

        Merged records count as rows, also those that a later record has replaced.
        """
        with self._warehouse.within(deadline):
            return WrittenChunks(self._warehouse).rows_of(chunks)

    def close(self) -> None:
        """Close the clients. May be called twice."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _warehouse(self) -> Warehouse:
        if self._opened is None:
            self._opened = open_warehouse(self._config)
            self._opened.look()
        return self._opened

    def _gathered(self, batches: Iterable[Batch], targets: TargetTables) -> list[TableBuffer]:
        """Return the rows of a chunk in one buffer for each table. Rows that do not fit become bad records."""
        for batch in batches:
            if not len(batch):
                continue
            assert batch.consumed is not None
            intake = taken_in(batch, targets)
            for buffer, admitted in intake.parts:
                buffer.take(batch.consumed.topic_partition, admitted, 0.0)
            if intake.bad:
                self._ctx.reject(batch, intake.bad)
        return [buffer for buffer in targets.buffers.values() if buffer.held_rows]

    def _write(self, chunk: BulkChunk, buffer: TableBuffer, targets: TargetTables, written: WrittenChunks) -> None:
        table = self._warehouse.table(buffer.target)
        if table is None:
            raise RetriableError(f"Table {buffer.target} is gone; it is made again.")
        sealed = buffer.seal()
        try:
            rows, refused = self._write_sealed(chunk, sealed, table.created_ms)
        except RefusedJobError as error:
            targets.check_unchanged(buffer, error)
            raise
        for batch, reasons in given_up(sealed, refused):
            self._ctx.reject(batch, reasons)
        written.note(chunk, buffer.target, table.created_ms, rows)

    def _write_sealed(self, chunk: BulkChunk, sealed: SealedBatch, created_ms: int) -> tuple[int, Refusals]:
        """Write rows to a table. Return how many of them are in it, and those that it refuses."""
        config = self._config
        if not config.mode.is_idempotent:
            return ChunkLoads(self._warehouse, config.staging_suffix).write(chunk, sealed, created_ms)
        if self._writer is None:
            self._writer = table_writer_of(config, self._warehouse, self._role, _unheard, in_any_order=True)
        refused = self._writer.write(sealed)
        return len(sealed) - len(refused), refused


def _require_no_places(config: BigQuerySinkConfig) -> None:
    """Raise ConfigError if the settings tell rows apart by offset, as rows that were never in Kafka have no offset."""
    if config.mode.tells_by_place:
        key = "deleteEnabled" if config.mode.rules.appends else "dedup.null.key"
        raise ConfigError(
            "Rows that are copied past Kafka have no offsets, by which this setting tells rows apart.",
            key="exactly.once" if config.exactly_once else key,
            fix="Leave it out for the copy, or move the table into a topic first.",
        )


def _unheard(figures: Mapping[str, int]) -> None:
    """Ignore the figures of a merge, as the log has them."""
    del figures
