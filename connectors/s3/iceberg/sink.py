"""Runs a task of `table.format=iceberg`: it keeps batches as columns, and commits them to tables with the progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from connect.api.connector import SinkContext
from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.optional.topic_ids import TopicIds
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.s3.formats.file_format import Prepared
from connectors.s3.formats.inferred import nullable
from connectors.s3.formats.parquet import ParquetFormat
from connectors.s3.iceberg.catalog import load
from connectors.s3.iceberg.columns import fitted
from connectors.s3.iceberg.missing_tables import MissingTables
from connectors.s3.iceberg.pending_rows import Pending, Piece
from connectors.s3.iceberg.routes import Routes
from connectors.s3.iceberg.table import LakeTable
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.iceberg_sink_config import IcebergSinkConfig
from connectors.s3.sink.build import intake_of, schedule_of

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


class LakeTables:
    """Keeps the tables to which rows are written, by topic. `connector` is the name of the connector that writes."""

    def __init__(self, config: S3SinkConfig) -> None:
        self.connector = ""
        self._config = config
        self._catalog: Catalog | None = None
        self._tables: dict[str, LakeTable] = {}

    def of(self, topic: str) -> LakeTable:
        """Return the table of a topic. RetriableError: the catalogue cannot be reached."""
        name = self._config.table_of(topic)
        if name not in self._tables:
            self._catalog = self._catalog or load(self._config)
            self._tables[name] = LakeTable(self._catalog, name, self._config, self.connector)
        return self._tables[name]

    def forget(self, topic: str) -> None:
        """Forget the table of a topic, which is not there."""
        self._tables.pop(self._config.table_of(topic), None)

    def forget_readings(self, partitions: Collection[TopicPartition]) -> None:
        """Forget where reading of these partitions began."""
        for table in self._tables.values():
            table.start_offsets.forget(partitions)

    @property
    def notes(self) -> list[str]:
        """Return what people should know of the rows that were left out."""
        return [note for table in self._tables.values() for note in table.notes]

    def close(self) -> None:
        """Release the catalogue's connections. May be called twice."""
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None
        self._tables.clear()


@dataclass(frozen=True)
class TableRows(ParquetFormat):
    """Makes rows in the columns of their tables; tables get the columns that they lack."""

    tables: LakeTables

    def prepare(self, batch: Batch) -> Prepared:
        """Return the rows as Parquet's format does, in the table's columns. SchemaError: the table has other types."""
        import pyarrow as pa

        prepared = super().prepare(batch)
        table = self.tables.of(batch.topic)
        rows, valid = table.converted(prepared.rows), prepared.valid
        columns = table.admit(pa.struct(list(rows.schema)))
        if valid is None:
            rows = fitted(rows, columns)
        else:
            fitted(rows.filter(valid), columns)
            rows = fitted(rows, nullable(columns))
        return replace(prepared, rows=rows, schema=rows.schema)


class IcebergSinkTask:
    """Writes the partitions assigned to it into tables. The task thread owns it."""

    def __init__(self, config: S3SinkConfig, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._config = config
        self._now_ms = now_ms
        self._schedule = schedule_of(config)
        self._tables = LakeTables(config)
        self._routes = Routes(config)
        self._missing = MissingTables()
        self._pending: dict[LakeTable, Pending] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._claimed: dict[TopicPartition, int] = {}
        self._opened_ms = self._last_row_ms = 0
        self._poll: tuple[TopicPartition, int] | None = None
        self._is_refused = False
        self._snapshots = self._rows_already_there = 0
        self._notes: list[str] = []

    def open(self, ctx: SinkContext) -> None:
        """Make the parts of the task. The first rows open the catalogue."""
        self._ctx = ctx
        self._tables.connector = ctx.connector
        self._topic_ids = TopicIds(ctx.topic_id)
        intake = intake_of(self._config, self._now_ms, ctx.avro)
        self._intake = replace(intake, format=TableRows(self._config.parquet_codec, self._tables))

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the rows of these partitions that wait."""
        self._topic_ids.forget(partitions)
        self._forget(partitions)

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Keep the rows until the next `flush`, which writes them. A flush is asked for if there are enough rows."""
        assert batch.consumed is not None
        partition = batch.consumed.topic_partition
        poll = (partition, batch.consumed.next_offset)
        self._is_refused = poll == self._poll
        if poll != self._poll and self._is_full:
            # The offsets of one poll's batches may interleave, so a snapshot has all rows of a poll or none.
            self._commit(deadline)
        routed = self._routes.routed(batch)
        gone = {part.topic: len(part) for part, _ in routed.parts if self._is_missing(part.topic)}
        admissions = [(self._intake.admit(part), rows) for part, rows in routed.parts if part.topic not in gone]
        for name, rows_gone in gone.items():
            self._missing.leave_out(name, rows_gone)
        self._note()
        self._is_refused = False
        self._poll = poll
        self._positions[partition] = batch.consumed.next_offset
        now_ms = self._now_ms()
        for part in (part for admission, _ in admissions for part in admission.parts):
            if part.facts.length:
                table = self._tables.of(part.topic)
                pending = self._pending.get(table, Pending())
                self._opened_ms = self._opened_ms if self._pending else now_ms
                self._last_row_ms = now_ms
                offsets = part.consumed.offsets.to_numpy()
                table.begin(partition, int(offsets[0]), batch.consumed.next_offset)
                piece = Piece(part.prepared.rows, offsets)
                self._pending[table] = pending.with_piece(partition, piece)
        if self._is_due:
            self._ctx.request_flush()
        self._report()
        bad = {rows[row]: error for admission, rows in admissions for row, error in admission.bad.items()}
        if bad or routed.bad:
            raise RejectedRowsError(dict(sorted((bad | dict(routed.bad)).items())))

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """Commit the rows that wait if it is time, and return the offsets to commit.

        RetriableError: no table could be written.
        """
        self._missing.look_again()
        if self._is_due and not self._is_refused:
            self._commit(deadline)
        self._report()
        for partition, position in self._positions.items():
            firsts = [first for own in self._pending.values() if (first := own.first_offset(partition)) is not None]
            if not firsts or partition in self._claimed:
                self._claimed[partition] = min(firsts, default=position)
        return dict(self._claimed)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the rows of these partitions that wait: the next owner reads them again."""
        self._forget(partitions)

    def close(self) -> None:
        """Release the catalogue. May be called twice."""
        self._pending.clear()
        self._tables.close()

    @property
    def _is_full(self) -> bool:
        most = self._config.open_bytes_max
        return most is not None and sum(own.size_bytes for own in self._pending.values()) >= most

    @property
    def _is_due(self) -> bool:
        """Return True if a rule would end a file. Then all tables are written, so that offsets can be committed."""
        if not self._pending:
            return False
        by_clock = self._schedule.due_at(self._opened_ms, self._last_row_ms) <= self._now_ms()
        rows, size_bytes = self._config.flush_size, self._config.rotate_size_bytes
        return by_clock or self._is_full or any(
            own.rows >= rows or 0 < size_bytes <= own.size_bytes for own in self._pending.values()
        )  # fmt: skip

    def _is_missing(self, topic: str) -> bool:
        """Return True if rows named a table that is not there and may not be made. They are left out, as in Java."""
        config = self._config
        if not isinstance(config, IcebergSinkConfig) or not config.dynamic or config.creates_tables:
            return False
        if topic in self._missing:
            return True
        is_missing = not self._tables.of(topic).is_there()
        if is_missing:
            self._tables.forget(topic)
        return is_missing

    def _commit(self, deadline: Deadline) -> None:
        failure: RetriableError | None = None
        for table, pending in list(self._pending.items()):
            try:
                topic_ids = {topic: self._topic_ids.of(topic, deadline) for topic, _ in pending.pieces}
                already_there = table.append(pending, topic_ids, deadline)
            except RetriableError as error:
                failure = error
            else:
                self._rows_already_there += already_there
                self._snapshots += already_there < pending.rows
                del self._pending[table]
        self._note()
        if failure is not None:
            raise failure

    def _note(self) -> None:
        notes = [*self._missing.notes, *self._tables.notes]
        if notes != self._notes:
            self._notes = notes
            self._ctx.note(notes)

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        gone = frozenset(partitions)
        self._tables.forget_readings(gone)
        left = {table: own.without(gone) for table, own in self._pending.items()}
        self._pending = {table: own for table, own in left.items() if own}
        for partition in partitions:
            self._positions.pop(partition, None)
            self._claimed.pop(partition, None)

    def _report(self) -> None:
        self._ctx.gauge("buffered_bytes", sum(own.size_bytes for own in self._pending.values()))
        self._ctx.gauge("snapshots_committed", self._snapshots)
        self._ctx.gauge("rows_already_in_tables", self._rows_already_there)
