"""Holds a correct sink into a SQLite table with its driver, and broken sinks that each break one promise."""

from __future__ import annotations

import pickle
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from kit_table import TableConfig, reached

from connect.api.connector import SinkContext
from connect.api.errors import ConfigError, ConnectError, RetriableError, SchemaError
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.api.records import Batch, Record, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.drivers import Row

CHECK = "CHECK (text IS NOT 'refused')"


class TableSink:
    """Buffers batches. `flush` writes them in one transaction, replaces rows by key, and claims what it has written."""

    def __init__(self, config: TableConfig) -> None:
        self.config = config
        self.buffer: list[Batch] = []

    def open(self, ctx: SinkContext) -> None:
        self.ctx = ctx
        with reached(self.config.database):
            pass

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        pass

    def put(self, batch: Batch, deadline: Deadline) -> None:
        self.buffer.append(batch)

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        batches = self.buffer
        with reached(self.config.database) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for batch in batches:
                self.write(connection, batch)
            connection.execute("COMMIT")
        self.buffer = []
        return self.claims(batches)

    def claims(self, batches: Sequence[Batch]) -> dict[TopicPartition, int]:
        return {b.consumed.topic_partition: b.consumed.next_offset for b in batches if b.consumed is not None}

    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        bad: dict[int, Exception] = {}
        for index, record in enumerate(batch.rows()):
            try:
                self.write_row(connection, self.id_of(record), record.value)
            except (sqlite3.IntegrityError, SchemaError) as error:
                bad[index] = error
        if bad:
            self.reject(batch, bad)

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        self.ctx.reject(batch, rows)

    def id_of(self, record: Record) -> int:
        if not isinstance(record.key, dict):
            raise SchemaError("The key is no struct with the member id.")
        return int(record.key["id"])

    def write_row(self, connection: sqlite3.Connection, row_id: int, value: Any) -> None:
        connection.execute("DELETE FROM rows WHERE id = ?", (row_id,))
        if value is not None:
            text = value.get("text")
            connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (row_id, text, pickle.dumps(self.value(value))))

    def value(self, value: dict[str, Any]) -> dict[str, Any]:
        return value

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.buffer = [b for b in self.buffer if b.consumed and b.consumed.topic_partition not in partitions]

    def close(self) -> None:
        self.buffer = []


class TableSinkConnector:
    task_class = TableSink

    def __init__(self, config: TableConfig) -> None:
        self.config = config

    def check(self, deadline: Deadline) -> None:
        with reached(self.config.database):
            pass

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self.config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> TableSink:
        return self.task_class(TableConfig.parse(dict(config)))


class TableSinkDriver:
    """Reads and changes the same file by sqlite3 alone."""

    topic = "rows"
    other_topics = ("more-rows",)
    rows_per_claim = 1
    cannot_hold: Mapping[str, str] = {}

    def __init__(self, folder: Path) -> None:
        self.path = folder / "rows.db"
        self.away = folder / "rows.away"

    def config(self) -> Mapping[str, str]:
        return {"database": str(self.path), "database.password": "unused"}

    def reset(self) -> None:
        for path in (self.path, self.away):
            path.unlink(missing_ok=True)
        connection = sqlite3.connect(self.path)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"CREATE TABLE rows (id INTEGER, text TEXT {CHECK}, body BLOB)")
        finally:
            connection.close()

    def read_back(self) -> Sequence[Row]:
        connection = sqlite3.connect(self.away if self.away.exists() else self.path)
        try:
            return [pickle.loads(body) for (body,) in connection.execute("SELECT body FROM rows")]
        finally:
            connection.close()

    read_types = read_back

    def bad_row(self, row: Row) -> Row:
        return {**row, "text": "refused"}

    def schemaless_bad_rows(self) -> Mapping[str, Callable[[Row], Row]]:
        return {"a refused text": self.bad_row}

    def break_connection(self) -> None:
        self.path.rename(self.away)

    def heal(self) -> None:
        self.away.rename(self.path)


def sink(connector: type[TableSinkConnector]) -> Plugin:
    """Return the plug-in of a connector class of this module."""
    return Plugin(
        PluginKind.SINK,
        name=f"kit.{connector.__name__}",
        factory=f"{connector.__module__}:{connector.__name__}",
        config=TableConfig,
        version="1",
        capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.DELETES}),
    )


class ClaimsTooMuchTask(TableSink):
    """Writes only what an earlier flush should have written, but claims everything that was put."""

    late: Sequence[Batch] = ()

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        ahead = self.claims(self.buffer)
        self.buffer, self.late = list(self.late), self.buffer
        super().flush(deadline)
        return ahead


class DoublesRowsTask(TableSink):
    def write_row(self, connection: sqlite3.Connection, row_id: int, value: Any) -> None:
        values = (row_id, value.get("text"), pickle.dumps(value))
        connection.execute("INSERT INTO rows VALUES (?, ?, ?)", values)


class DropsNoneTask(TableSink):
    def value(self, value: dict[str, Any]) -> dict[str, Any]:
        return {k: "" if v is None and k == "text" else v for k, v in value.items()}


class CastsIntToFloatTask(TableSink):
    def value(self, value: dict[str, Any]) -> dict[str, Any]:
        return {k: float(v) if k == "value" and type(v) is int else v for k, v in value.items()}


class SwallowsABadRowTask(TableSink):
    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Tell nobody about the rows."""


class RejectsTheWholeBatchTask(TableSink):
    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        if any(r.value and r.value.get("text") == "refused" for r in batch.rows()):
            self.ctx.reject(batch, {i: ConnectError("A row of this batch is bad.") for i in range(len(batch))})
            return
        super().write(connection, batch)


class IgnoresTheDeadlineTask(TableSink):
    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        if deadline.remaining_s < 0.5:
            threading.Event().wait(2.0)
        return super().flush(deadline)


class KeepsRevokedTask(TableSink):
    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Keep the rows of partitions that are revoked."""


class ForgetsEmptyBatchesTask(TableSink):
    def put(self, batch: Batch, deadline: Deadline) -> None:
        if len(batch):
            super().put(batch, deadline)


class GoesBackTask(TableSink):
    """Claims the first offset again when there is nothing to do."""

    seen: Mapping[TopicPartition, int] = {}

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        claims = super().flush(deadline)
        self.seen = {**self.seen, **claims}
        return claims or dict.fromkeys(self.seen, 0)


class IgnoresTombstonesTask(TableSink):
    def write_row(self, connection: sqlite3.Connection, row_id: int, value: Any) -> None:
        if value is not None:
            super().write_row(connection, row_id, value)


class KeepsTheFirstTask(TableSink):
    def write_row(self, connection: sqlite3.Connection, row_id: int, value: Any) -> None:
        if value is None or not connection.execute("SELECT 1 FROM rows WHERE id = ?", (row_id,)).fetchall():
            super().write_row(connection, row_id, value)


class DependsOnTheFormTask(TableSink):
    """Writes rows that came as Arrow as they are, but strips the texts of others."""

    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        self.strip = not batch.values.is_arrow
        super().write(connection, batch)

    def value(self, value: dict[str, Any]) -> dict[str, Any]:
        return {k: v.strip() if self.strip and isinstance(v, str) else v for k, v in value.items()}


class LosesABatchOnErrorTask(TableSink):
    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        try:
            return super().flush(deadline)
        except RetriableError:
            self.buffer = []
            raise


class LeaksAThreadTask(TableSink):
    def open(self, ctx: SinkContext) -> None:
        super().open(ctx)
        threading.Thread(target=threading.Event().wait, daemon=True).start()


class LeaksAFileOnAFailedOpenTask(TableSink):
    kept: list[object] = []  # noqa: RUF012 - the leak

    def open(self, ctx: SinkContext) -> None:
        try:
            super().open(ctx)
        except RetriableError:
            self.kept.append(Path(__file__).open("rb"))  # noqa: SIM115 - the leak
            raise


class ClosesOnceTask(TableSink):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise ConnectError("Closed already.")
        self.closed = True


class LeaksASecretTask(TableSink):
    def open(self, ctx: SinkContext) -> None:
        if self.config.originals["database.password"] != "unused":
            raise ConnectError(f"The settings {dict(self.config.originals)} are refused.")
        super().open(ctx)


class ClaimsTooMuch(TableSinkConnector):
    task_class = ClaimsTooMuchTask


class DoublesRows(TableSinkConnector):
    task_class = DoublesRowsTask


class DropsNone(TableSinkConnector):
    task_class = DropsNoneTask


class CastsIntToFloat(TableSinkConnector):
    task_class = CastsIntToFloatTask


class SwallowsABadRow(TableSinkConnector):
    task_class = SwallowsABadRowTask


class RejectsTheWholeBatch(TableSinkConnector):
    task_class = RejectsTheWholeBatchTask


class IgnoresTheDeadline(TableSinkConnector):
    task_class = IgnoresTheDeadlineTask


class KeepsRevoked(TableSinkConnector):
    task_class = KeepsRevokedTask


class ForgetsEmptyBatches(TableSinkConnector):
    task_class = ForgetsEmptyBatchesTask


class GoesBack(TableSinkConnector):
    task_class = GoesBackTask


class IgnoresTombstones(TableSinkConnector):
    task_class = IgnoresTombstonesTask


class KeepsTheFirst(TableSinkConnector):
    task_class = KeepsTheFirstTask


class DependsOnTheForm(TableSinkConnector):
    task_class = DependsOnTheFormTask


class LosesABatchOnError(TableSinkConnector):
    task_class = LosesABatchOnErrorTask


class LeaksAThread(TableSinkConnector):
    task_class = LeaksAThreadTask


class LeaksAFileOnAFailedOpen(TableSinkConnector):
    task_class = LeaksAFileOnAFailedOpenTask


class ClosesOnce(TableSinkConnector):
    task_class = ClosesOnceTask


class LeaksASecret(TableSinkConnector):
    task_class = LeaksASecretTask


class ChecksNothing(TableSinkConnector):
    def check(self, deadline: Deadline) -> None:
        pass


class RefusesItsExample(TableSinkConnector):
    def check(self, deadline: Deadline) -> None:
        raise ConfigError("This configuration is wrong.", key="database")
