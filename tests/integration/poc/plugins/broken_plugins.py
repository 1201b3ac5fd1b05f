"""Holds plug-ins with one defect each, which an evaluation must find: those of the kit, and a few more."""

import atexit
import os
import pickle
import sqlite3
import threading
import time
from decimal import Decimal
from pathlib import Path

import kit_sink
import kit_source
from kit_table import START, TableConnector, TableSource, source

from connect.api import schema as s
from connect.api.config import Config
from connect.api.optional.findings import Aspect, Finding, Weight
from connect.api.plugin import Plugin, PluginKind, hookimpl
from connect.api.records import Batch, Column, SourcePosition
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

AMOUNT = s.struct({"id": s.INT64, "amount": s.decimal(2)})


class RoundsDecimals(JsonConverter):
    """Writes decimals with one digit less."""

    def encode(self, topic, column):
        rows = [None if row is None else {k: self._rounded(v) for k, v in row.items()} for row in column.rows()]
        return super().encode(topic, Column.from_rows(rows, column.schema))

    def _rounded(self, value):
        return round(value, 1).quantize(Decimal("0.01")) if isinstance(value, Decimal) else value


class AmountsTask(TableSource):
    """Gives the table's rows with an amount of two digits."""

    def batch(self, rows):
        values = [{"id": row["id"], "amount": Decimal(row["id"]).scaleb(-2)} for row in rows]
        return Batch("amounts", Column.from_rows(values, AMOUNT), position=SourcePosition({"t": 1}, dict(self.place)))


class Amounts(TableConnector):
    task_class = AmountsTask


class SkipsTiesTask(kit_source.KeepsOnlyTheTieTask):
    """Skips rows like a poller whose page ends inside a tie."""

    def query(self):
        sql = "SELECT * FROM rows WHERE tie > :tie ORDER BY tie, id LIMIT :most"
        return self.select(sql, {**self.place, "most": self.config.batch_max_rows})


class SkipsTies(TableConnector):
    task_class = SkipsTiesTask


class InventsRowsTask(TableSource):
    """Begins each run but the first with a row that the table never had."""

    def query(self):
        rows = super().query()
        if rows and self.place != START and not self.begun:
            rows = [{**rows[0], "id": rows[0]["id"] + 1_000_000}, *rows]
        self.begun = self.begun or bool(rows)
        return rows

    def open(self, ctx):
        super().open(ctx)
        self.begun = False


class InventsRows(TableConnector):
    task_class = InventsRowsTask


HOSTILE = ("<img src=x onerror=alert(1)>", "\u202erebmun", "😀", "a b", "'; DROP TABLE x; --")
WIDE = s.struct({"id": s.INT64, **{f"c{i}": s.INT64 for i in range(10_000)}, **dict.fromkeys(HOSTILE, s.STRING)})


class WideTask(TableSource):
    """Gives rows of 10,000 columns, some with hostile names, and a value of a megabyte."""

    def batch(self, rows):
        long = {1: "x" * 1_000_000}
        values = [
            {
                "id": row["id"], **{f"c{i}": i for i in range(10_000)},
                **dict.fromkeys(HOSTILE, "<script>alert(1)</script>\u202e😀" + long.get(row["id"], "")),
            }
            for row in rows
        ]  # fmt: skip
        return Batch("wide", Column.from_rows(values, WIDE), position=SourcePosition({"t": 1}, dict(self.place)))


class Wide(TableConnector):
    task_class = WideTask


class KeepsASlot(TableConnector):
    """Would take something from its owner, so nothing of it may be opened."""

    task_class = None
    kept_at_source = "replication slot s"


class HangsInOpenTask(TableSource):
    def open(self, ctx):
        threading.Event().wait()


class HangsInOpen(TableConnector):
    task_class = HangsInOpenTask


class HangsInPollTask(TableSource):
    def poll(self, deadline):
        threading.Event().wait()


class HangsInPoll(TableConnector):
    task_class = HangsInPollTask


class CrashesTask(TableSource):
    def poll(self, deadline):
        os.abort()


class Crashes(TableConnector):
    task_class = CrashesTask


class AbortsAtExit(TableConnector):
    """Gives all rows, but its process aborts as the interpreter ends, as one does whose native threads outlive it."""

    def task(self, config):
        atexit.register(os.abort)
        return super().task(config)


class LeaksTask(TableSource):
    """Takes ever more memory, and gives no row."""

    def poll(self, deadline):
        kept = []
        while True:
            kept.append(bytearray(b"x") * 2**26)


class Leaks(TableConnector):
    task_class = LeaksTask


class ExaminesItself(TableConnector):
    """Finds that a right is missing, and then fails."""

    def examine(self, deadline):
        yield Finding(Aspect.REACH, "The user may not read rows.", "GRANT SELECT ON rows TO me;", Weight.FAILS)
        raise ZeroDivisionError("in the midst of it")


class FallsBehindTask(TableSource):
    """Catches up once, at its hundredth poll, and never again while it goes on reading."""

    def open(self, ctx):
        super().open(ctx)
        self.ctx, self.polls = ctx, 0

    def poll(self, deadline):
        threading.Event().wait(0.02)
        self.polls += 1
        if self.polls in {1, 100}:
            self.ctx.caught_up(time.time())
        return super().poll(deadline)


class FallsBehind(TableConnector):
    task_class = FallsBehindTask


class TrialTable:
    """Stands for another database beside the one that a sink is set to."""

    is_once, merges = True, False

    def __init__(self, database, name):
        self.path = Path(f"{database}.{name}")

    @property
    def settings(self):
        return {"database": str(self.path)}

    def make(self, deadline):
        with sqlite3.connect(self.path) as connection:
            connection.execute("CREATE TABLE rows (id INTEGER, text TEXT, body BLOB)")

    def rows(self, deadline):
        with sqlite3.connect(self.path) as connection:
            for (body,) in connection.execute("SELECT body FROM rows"):
                yield repr(pickle.loads(body)).encode()

    def remove(self, deadline):
        for path in self.path.parent.glob(f"{self.path.name}*"):
            path.unlink()


class CleanTask(kit_sink.TableSink):
    """Writes a row once, however often it comes."""

    def write_row(self, connection, row_id, value):
        body = pickle.dumps(value)
        connection.execute("DELETE FROM rows WHERE id = ? AND body = ?", (row_id, body))
        connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (row_id, None, body))

    def flush(self, deadline):
        self.create_index()
        return super().flush(deadline)

    def create_index(self):
        with sqlite3.connect(self.config.database) as connection:
            connection.execute("CREATE INDEX IF NOT EXISTS by_id ON rows (id)")


class CleanSink(kit_sink.TableSinkConnector):
    task_class = CleanTask

    def trial_target(self, name):
        return TrialTable(self.config.database, name)


class DropsARowTask(CleanTask):
    """Loses one row of 10,000."""

    def write_row(self, connection, row_id, value):
        if row_id % 10_000 != 4_321:
            super().write_row(connection, row_id, value)


class DropsARow(CleanSink):
    task_class = DropsARowTask


class RepeatsRowsTask(CleanTask):
    """Writes rows as they come, and does not know which rows an earlier life has written."""

    def put(self, batch, deadline):
        with sqlite3.connect(self.config.database) as connection:
            self.write(connection, batch)
        super().put(batch.slice(len(batch), len(batch)), deadline)

    def write_row(self, connection, row_id, value):
        connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (row_id, None, pickle.dumps(value)))


class RepeatsRows(CleanSink):
    task_class = RepeatsRowsTask


class HangsInPutTask(CleanTask):
    def put(self, batch, deadline):
        threading.Event().wait()


class HangsInPut(CleanSink):
    task_class = HangsInPutTask


class NoTargetApart(kit_sink.TableSinkConnector):
    """Offers no target beside the real one."""


SINKS = (CleanSink, DropsARow, RepeatsRows, HangsInPut, NoTargetApart)
CONNECTORS = (
    TableConnector, kit_source.LosesARowAtTheEdge, kit_source.RepeatsAfterARestart, Amounts, SkipsTies, InventsRows,
    Wide, KeepsASlot, HangsInOpen, HangsInPoll, Crashes, AbortsAtExit, Leaks, ExaminesItself, FallsBehind,
)  # fmt: skip


@hookimpl
def connect_plugins() -> list[Plugin]:
    config: type[Config] = JsonConfig
    rounding = Plugin(PluginKind.CONVERTER, "kit.RoundsDecimals", "broken_plugins:RoundsDecimals", config, "1")
    return [rounding, *map(source, CONNECTORS), *map(kit_sink.sink, SINKS)]
