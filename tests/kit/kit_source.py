"""A correct source over a SQLite table, its driver, and broken ones that each break one promise."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from connect.api import schema as s
from connect.api.config import ConnectorConfig, Int, Password, String, at_least, key
from connect.api.connector import SourceContext
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.api.records import Batch, Column, Record, SourcePosition
from connect.testing.drivers import ROW_SCHEMA, Row

PARTITION = {"table": "rows"}
KEY = s.struct({"id": s.INT64})
START = {"tie": -1, "id": -1}


class TableConfig(ConnectorConfig):
    database: String = key("database", doc="The file of the SQLite database.", importance="high")
    password: Password | None = key("database.password", None, doc="A secret that SQLite does not use.")
    batch_max_rows: Annotated[Int, at_least(1)] = key("batch.max.rows", 7, doc="Rows per batch.")


@contextmanager
def reached(path: str) -> Iterator[sqlite3.Connection]:
    """A connection; RetriableError while the database is away. Nothing waits for the disk: no test cuts the power."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=rw", uri=True, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise RetriableError("The database cannot be reached.", key="database") from error
    try:
        connection.execute("PRAGMA synchronous = OFF")
        yield connection
    finally:
        connection.close()


class TableSource:
    """Connects for each query, so that a database that comes back is used again."""

    def __init__(self, config: TableConfig) -> None:
        self.config = config
        self.place: Mapping[str, Any] = START

    def open(self, ctx: SourceContext) -> None:
        with reached(self.config.database):
            self.place = ctx.stored_offset(PARTITION) or START

    def poll(self, deadline: Deadline) -> Batch | None:
        while not (rows := self.query()):
            if not self.wait(deadline):
                return None
        self.place = {"tie": rows[-1]["tie"], "id": rows[-1]["id"]}
        return self.batch(rows)

    def wait(self, deadline: Deadline) -> bool:
        return deadline.wait(0.02)

    def query(self) -> list[dict[str, Any]]:
        sql = "SELECT * FROM rows WHERE (tie, id) > (:tie, :id) ORDER BY tie, id LIMIT :most"
        return self.select(sql, {**self.place, "most": self.config.batch_max_rows})

    def select(self, sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        with reached(self.config.database) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, values)]

    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        values = [None if row["deleted"] else self.value(row) for row in rows]
        return Batch(
            "rows",
            values=Column.from_rows(values, ROW_SCHEMA.as_optional()),
            keys=Column.from_rows([{"id": row["id"]} for row in rows], KEY),
            position=SourcePosition(PARTITION, dict(self.place)),
        )

    def value(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in ("id", "tie", "text", "whole", "number")}

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        pass

    def close(self) -> None:
        pass


class TableConnector:
    task_class = TableSource

    def __init__(self, config: TableConfig) -> None:
        self.config = config

    def check(self, deadline: Deadline) -> None:
        with reached(self.config.database):
            pass

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self.config.originals)]

    def task(self, config: Mapping[str, str]) -> TableSource:
        return self.task_class(TableConfig.parse(dict(config)))


class TableDriver:
    """The same file by sqlite3 alone."""

    in_order = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "rows.db"
        self.away = folder / "rows.away"

    def config(self) -> Mapping[str, str]:
        return {"database": str(self.path), "database.password": "unused", "batch.max.rows": "7"}

    def reset(self) -> None:
        for path in (self.path, self.away):
            path.unlink(missing_ok=True)
        columns = "id INTEGER PRIMARY KEY, tie INTEGER, text TEXT, whole INTEGER, number REAL"
        self._run(f"CREATE TABLE rows ({columns}, deleted INTEGER DEFAULT 0, pruned INTEGER DEFAULT 0)", [{}])

    def insert(self, rows: Sequence[Row]) -> None:
        self._run("INSERT INTO rows (id, tie, text, whole, number) VALUES (:id, :tie, :text, :whole, :number)", rows)

    def update(self, rows: Sequence[Row]) -> None:
        self._run("UPDATE rows SET tie = :tie, text = :text, pruned = 0 WHERE id = :id", rows)

    def delete(self, ids: Sequence[int]) -> None:
        self._run("UPDATE rows SET deleted = 1, tie = tie + 1000, pruned = 0 WHERE id = :id", [{"id": i} for i in ids])

    def expected(self) -> Sequence[Row]:
        connection = sqlite3.connect(self.path)
        try:
            connection.row_factory = sqlite3.Row
            return [
                dict(r) for r in connection.execute("SELECT id, tie, text, whole, number FROM rows WHERE NOT deleted")
            ]
        finally:
            connection.close()

    def row_of(self, record: Record) -> Row:
        return dict(record.value if record.value is not None else record.key)

    def break_connection(self) -> None:
        self.path.rename(self.away)

    def heal(self) -> None:
        self.away.rename(self.path)

    def _run(self, sql: str, values: Sequence[Mapping[str, Any]]) -> None:
        connection = sqlite3.connect(self.path)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            with connection:
                connection.executemany(sql, values)
        finally:
            connection.close()


def source(connector: type[TableConnector], config: type[TableConfig] = TableConfig) -> Plugin:
    """The declaration of a connector class of this module."""
    return Plugin(
        PluginKind.SOURCE,
        name=f"kit.{connector.__name__}",
        factory=f"{connector.__module__}:{connector.__name__}",
        config=config,
        version="1",
        capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.DELETES}),
    )


class AcksEarlyTask(TableSource):
    """Prunes upstream as soon as rows are read, not when they are stored."""

    def query(self) -> list[dict[str, Any]]:
        rows = self.select("SELECT * FROM rows WHERE NOT pruned ORDER BY tie, id LIMIT :most", {"most": 7})
        for row in rows:
            self.select("UPDATE rows SET pruned = 1 WHERE id = :id RETURNING id", row)
        return rows


class PrefetchesTask(AcksEarlyTask):
    """Prunes and holds more batches than it gave away."""

    def __init__(self, config: TableConfig) -> None:
        super().__init__(config)
        self.held: list[dict[str, Any]] = []

    def query(self) -> list[dict[str, Any]]:
        while rows := super().query():
            self.held += rows
        given, self.held = self.held[:7], self.held[7:]
        return given


class KeepsOnlyTheTieTask(TableSource):
    def query(self) -> list[dict[str, Any]]:
        return self.select("SELECT * FROM rows WHERE tie > :tie ORDER BY tie, id LIMIT 7", dict(self.place))


class DropsNoneTask(TableSource):
    def value(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {k: "" if k == "text" and v is None else v for k, v in super().value(row).items()}


class CastsIntToFloatTask(TableSource):
    def value(self, row: Mapping[str, Any]) -> dict[str, Any]:
        whole = row["whole"]
        return {**super().value(row), "whole": None if whole is None else min(int(float(whole)), 2**63 - 1024)}


class IgnoresTheDeadlineTask(TableSource):
    """Waits too long when it has no time."""

    def poll(self, deadline: Deadline) -> Batch | None:
        if deadline.expired:
            threading.Event().wait(2.0)
        return super().poll(deadline)


class IgnoresStopTask(TableSource):
    def wait(self, deadline: Deadline) -> bool:
        threading.Event().wait(min(2.0, max(0.0, deadline.at_s - time.monotonic())))
        return not deadline.expired


class SpinsTask(TableSource):
    def wait(self, deadline: Deadline) -> bool:
        return not deadline.expired


class LosesARowAtTheEdgeTask(TableSource):
    """Resumes one row too far."""

    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        if self.place is not START:
            self.place = {name: place + 1 for name, place in self.place.items()}


class RepeatsAfterARestartTask(TableSource):
    """Resumes at the last row, not after it."""

    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        if self.place is not START:
            self.place = {**self.place, "id": self.place["id"] - 1}


class ForgetsTheOffsetTask(TableSource):
    def open(self, ctx: SourceContext) -> None:
        with reached(self.config.database):
            self.place = START


class ReversesTask(TableSource):
    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        return super().batch(rows[::-1])


class LeaksAThreadTask(TableSource):
    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        threading.Thread(target=threading.Event().wait, daemon=True).start()


class LeaksAFileTask(TableSource):
    kept: list[object] = []  # noqa: RUF012 - the leak

    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        self.kept.append(Path(self.config.database).open("rb"))  # noqa: SIM115 - the leak


class ClosesOnceTask(TableSource):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise ConnectError("Closed already.")
        self.closed = True


class SwallowsDeletesTask(TableSource):
    def query(self) -> list[dict[str, Any]]:
        return [row for row in super().query() if not row["deleted"]]


class DiesOfALostConnectionTask(TableSource):
    """Moves on although the query failed."""

    def query(self) -> list[dict[str, Any]]:
        try:
            return super().query()
        except RetriableError:
            self.place = {name: place + 7 for name, place in self.place.items()}
            raise


class BadOffsetsTask(TableSource):
    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        batch = super().batch(rows)
        return Batch("rows", batch.values, batch.keys, position=SourcePosition(PARTITION, {"place": object()}))


class LeaksASecret(TableConnector):
    def check(self, deadline: Deadline) -> None:
        assert self.config.password is not None
        raise ConnectError(f"Login with {self.config.password.get_secret_value()} failed.")


class LogsASecret(TableConnector):
    def check(self, deadline: Deadline) -> None:
        import logging

        logging.getLogger("kit").debug("settings: %s", dict(self.config.originals))


class CopiesTheRows(TableConnector):
    """Gives each task all of the rows."""

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self.config.originals)] * max_tasks


class PlansTooMany(TableConnector):
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self.config.originals)] * max(max_tasks, 2)


class OddKeysConfig(TableConfig):
    camel: String = key("batchSize", "1", doc="A key in the wrong case.")


class UndocumentedConfig(TableConfig):
    silent: String = key("silent", "1", doc="")


class BadDefaultConfig(TableConfig):
    most: Annotated[Int, at_least(1)] = key("rows.most", 0, doc="The default is out of range.")


class AcksEarly(TableConnector):
    task_class = AcksEarlyTask


class Prefetches(TableConnector):
    task_class = PrefetchesTask


class KeepsOnlyTheTie(TableConnector):
    task_class = KeepsOnlyTheTieTask


class DropsNone(TableConnector):
    task_class = DropsNoneTask


class CastsIntToFloat(TableConnector):
    task_class = CastsIntToFloatTask


class IgnoresTheDeadline(TableConnector):
    task_class = IgnoresTheDeadlineTask


class IgnoresStop(TableConnector):
    task_class = IgnoresStopTask


class Spins(TableConnector):
    task_class = SpinsTask


class LosesARowAtTheEdge(TableConnector):
    task_class = LosesARowAtTheEdgeTask


class RepeatsAfterARestart(TableConnector):
    task_class = RepeatsAfterARestartTask


class ForgetsTheOffset(TableConnector):
    task_class = ForgetsTheOffsetTask


class Reverses(TableConnector):
    task_class = ReversesTask


class LeaksAThread(TableConnector):
    task_class = LeaksAThreadTask


class LeaksAFile(TableConnector):
    task_class = LeaksAFileTask


class ClosesOnce(TableConnector):
    task_class = ClosesOnceTask


class SwallowsDeletes(TableConnector):
    task_class = SwallowsDeletesTask


class DiesOfALostConnection(TableConnector):
    task_class = DiesOfALostConnectionTask


class BadOffsets(TableConnector):
    task_class = BadOffsetsTask
