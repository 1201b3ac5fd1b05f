"""Writes each chunk of a backfill once: its rows, and the note that they are written, are in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.bulk import BulkChunk, BulkSinkContext, WrittenChunk
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.jdbc.sink.database import TargetDatabase
from connectors.jdbc.sink.own_tables import NotedChunk, RowPlace, WrittenChunks, places_of
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.writer import Admitted, Bad, TableWriter


class JdbcBulkWriter:
    """Writes chunks. Owned by one thread."""

    def __init__(self, config: JdbcSinkConfig, ctx: BulkSinkContext) -> None:
        """Connect to nothing."""
        self._config = config
        self._ctx = ctx
        self._database = TargetDatabase(config)
        self._writer = TableWriter(config, self._database)
        self._chunks = WrittenChunks(config, self._database)
        self._is_ready = False

    def write(self, chunk: BulkChunk, batches: Iterable[Batch], deadline: Deadline) -> WrittenChunk:
        """Write the rows of a chunk, as `BulkWriter.write` describes."""
        if not chunk.is_stable and self._config.pk_mode == "kafka":
            raise ConfigError(
                "Rows that are copied past Kafka have no offsets to be their keys.", key="pk.mode",
                fix="Set record_key or record_value for the copy.",
            )  # fmt: skip
        self._make_ready()
        given = [batch for batch in batches if len(batch)]
        if deadline.expired:
            raise RetriableError(f"There was no time left to write chunk {chunk.id}.")
        try:
            admitted = [self._writer.admit(batch) for batch in given]
            noted = self._writer.in_transaction(
                f"writing chunk {chunk.id}", lambda connection: self._written(connection, chunk, given, admitted)
            )
        except RetriableError:
            self._writer.forget_tables()
            raise
        for batch in given:
            self._reject(batch, noted)
        return WrittenChunk(noted.rows, 0)

    def rows_of(self, chunks: Collection[BulkChunk], deadline: Deadline) -> Mapping[str, int]:
        """Return the numbers of rows that were noted for chunks. Records with the same key are counted one by one."""
        del deadline  # one statement
        self._make_ready()
        return self._chunks.rows_of(chunks)

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self._database.close()

    def _make_ready(self) -> None:
        if not self._is_ready:
            self._chunks.make()
            self._is_ready = True

    def _written(
        self, connection: sa.Connection, chunk: BulkChunk, given: Sequence[Batch], admitted: Sequence[Admitted]
    ) -> NotedChunk:
        noted = self._chunks.begun(connection, chunk)
        if noted is None:
            noted = _noted(given, self._writer.write_all(connection, admitted))
            self._chunks.note(connection, chunk, noted)
        return noted

    def _reject(self, batch: Batch, noted: NotedChunk) -> None:
        assert batch.consumed is not None
        reasons = noted.refused.get(batch.consumed.topic_partition, {})
        places = places_of(batch.consumed) if reasons else []
        bad = {row: ConnectError(reasons[place]) for row, place in enumerate(places) if place in reasons}
        if bad:
            self._ctx.reject(batch, bad)


def _noted(batches: Iterable[Batch], bad: Iterable[Bad]) -> NotedChunk:
    rows = 0
    refused: dict[TopicPartition, dict[RowPlace, str]] = {}
    for batch, reasons in zip(batches, bad, strict=True):
        rows += len(batch) - len(reasons)
        assert batch.consumed is not None
        places = places_of(batch.consumed) if reasons else []
        for row, why in reasons.items():
            refused.setdefault(batch.consumed.topic_partition, {})[places[row]] = str(why)
    return NotedChunk(rows, refused)
