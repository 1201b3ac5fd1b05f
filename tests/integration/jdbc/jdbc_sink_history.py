"""Runs a random history of the JDBC sink with bad rows, crashes and lost partitions, and compares it with a plain
model.

The model only knows the sink's README. It asks the server with a client of its own if a row has to be refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from histories import History
from jdbc_server import Server
from jdbc_sink_target import Pair, batch, made, put

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.sink import JdbcSinkTask

Record = Pair | int
"""Holds a row, or the id of a tombstone."""
_UPSERT: Final = {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true"}
_RAISE: Final = """CREATE FUNCTION raise_{t}() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN IF new.v = 13 THEN RAISE EXCEPTION ''no 13''; END IF; RETURN new; END'"""
_EXECUTE: Final = "EXECUTE FUNCTION raise_{t}()"
_SERIAL: Final = {"postgres": "SERIAL PRIMARY KEY", "mariadb": "INT AUTO_INCREMENT PRIMARY KEY"}


@dataclass(frozen=True)
class Shape:
    """Holds a kind of table. `has_key` says for a row if a unique key refuses a second one like it.

    A shape is drawn `weight` times as often as one of weight 1.
    """

    statements: Sequence[str]
    has_key: Callable[[Pair], bool] = lambda row: True
    is_keyed: bool = True
    weight: int = 1


def _shapes(server: str) -> Mapping[str, Shape]:
    found = {
        "key": Shape(["CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT CHECK (v <> 13))"]),
        "number": Shape(
            [f"CREATE TABLE {{t}} (n {_SERIAL[server]}, id BIGINT, v BIGINT CHECK (v <> 13))"], lambda row: False, False
        ),
        "nullable": Shape(["CREATE TABLE {t} (id BIGINT, v BIGINT UNIQUE)"], lambda row: row[1] is not None, False),
        # This is not keyed: an upsert may be refused because of a row that is gone by the end of its batch.
        "two": Shape(["CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT UNIQUE)"], is_keyed=False),
    }
    if server == "mariadb":
        return found
    late = "DEFERRABLE INITIALLY DEFERRED"
    return found | {
        "tree": Shape([f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY, v BIGINT REFERENCES {{t}} {late})"]),
        "late": Shape([f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY, v BIGINT UNIQUE {late})"]),
        "late key": Shape([f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY {late}, v BIGINT)"], is_keyed=False),
        "apart": Shape([f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY, v BIGINT, EXCLUDE (v WITH =) {late})"]),
        "raise": Shape([
            "CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT)", _RAISE,
            f"CREATE CONSTRAINT TRIGGER r AFTER INSERT OR UPDATE ON {{t}} {late} FOR EACH ROW {_EXECUTE}",
        ]),
        "some": Shape([
            "CREATE TABLE {t} (id BIGINT, v BIGINT)", "CREATE UNIQUE INDEX ON {t} (id) WHERE v > 10",
        ], lambda row: (row[1] or 0) > 10, False, weight=5),
    }  # fmt: skip


class SinkHistory:
    """Puts records into a table, and keeps which of them must be there."""

    def __init__(self, server: Server, history: History, shape: str | None = None) -> None:
        """Draw what the history is about: the kind of table, unless `shape` names one, and the sink's settings."""
        self._server, self._history, self._draw = server, history, history.draw
        shapes = _shapes(server.name)
        [drawn] = self._draw.choices(list(shapes), [one.weight for one in shapes.values()])
        name = shape or drawn
        self._shape = shapes[name]
        mode = self._draw.choice(["insert", "insert", "once", "upsert"] if self._shape.is_keyed else ["insert", "once"])
        self._is_upsert, self._is_once = mode == "upsert", mode == "once"
        self._settings = _UPSERT if self._is_upsert else {"exactly.once": "true"} if self._is_once else {}
        statement_rows = self._draw.choice(["1", "3", "3000"])
        self._settings = {key.replace(".", "__"): value for key, value in self._settings.items()}
        self._settings |= {"batch__size": statement_rows}
        self._records: list[Record] = []
        self._read = 0
        """This is the offset behind the last record whose commit counts."""
        self._end = 0
        self._given: Counter[Pair] = Counter()
        """Counts how often each good row was put."""
        self._last: dict[int, int | None] = {}
        self._ctx = FakeSinkContext()
        self._task: JdbcSinkTask | None = None
        history.note("set up", server=server.name, shape=name, mode=mode, statement_rows=statement_rows)

    def run(self, steps: int) -> None:
        """Do a number of steps. AssertionError: the table is not as the model says."""
        self._server.run(*self._shape.statements)
        try:
            for _ in range(steps):
                self._step()
        finally:
            self._close()

    def _step(self) -> None:
        draw = self._draw
        end = min(len(self._records), self._read + draw.randint(1, 30))
        if end == self._read:
            self._records += [self._record() for _ in range(draw.choice([1, 5, 30]))]
            end = min(len(self._records), self._read + draw.randint(1, 30))
        self._history.note("put", first=self._read, records=self._records[self._read : end])
        self._put(self._read, end)
        happens = draw.random()
        if happens < 0.2:
            self._history.note("crash before the offsets are committed", read=self._read)
            self._close()
        elif happens < 0.3 and not self._is_once:
            self._lose_partition(self._read, end)
        else:
            self._read = end

    def _record(self) -> Record:
        draw = self._draw
        if self._is_upsert and draw.random() < 0.2:
            return draw.randint(1, 12)
        return draw.randint(1, 40), draw.choice([None, draw.randint(1, 20), draw.randint(1, 20)])

    def _put(self, first: int, end: int) -> None:
        task = self._opened()
        given = self._records[first:end]
        bad = put(task, batch(self._server, given, first))
        good = [record for place, record in enumerate(given) if place not in bad]
        if self._is_upsert:
            self._take_upserted(good)
        else:
            self._end = max(self._end, end)
            self._count(good, self._records[: self._end])
        for place in bad:
            assert self._is_refused(given[place]), f"{given[place]} is given up: {bad[place]}"

    def _take_upserted(self, good: Sequence[Record]) -> None:
        """Check that the row of each key is the last good record of that key."""
        for record in good:
            if isinstance(record, int):
                self._last.pop(record, None)
            else:
                self._last[record[0]] = record[1]
        assert dict(rows_of(self._server)) == self._last

    def _count(self, good: Sequence[Any], read: Sequence[Record]) -> None:
        """Check that each record is there: once if a key refuses others or offsets are noted, or else as often as it
        was put.
        """
        self._given.update(good)
        there = Counter(rows_of(self._server))
        for row, count in self._given.items():
            least = 1 if self._shape.has_key(row) else read.count(row)
            most = least if self._is_once or self._shape.has_key(row) else count
            assert least <= there[row] <= most, f"{row} is there {there[row]} times of {least} to {most}"
        assert there.keys() <= self._given.keys(), there.keys() - self._given.keys()

    def _lose_partition(self, first: int, end: int) -> None:
        """Have a task write rows whose partition it has lost, as if it had been frozen while another task wrote them.

        It must reject none of them.
        """
        self._history.note("lose the partition")
        task, self._task = self._opened(), None
        self._ctx.lost.add(TopicPartition(self._server.table, 0))
        try:
            bad = put(task, batch(self._server, self._records[first:end], first))
        except RetriableError:
            bad = {}
        else:
            self._given.update(record for record in self._records[first:end] if not isinstance(record, int))
        task.close()
        self._ctx = FakeSinkContext()
        assert not bad

    def _is_refused(self, record: Record) -> bool:
        table = self._server.table
        with self._server.engine.connect() as connection:
            try:
                connection.execute(sa.text(self._statement(table, record)))
                if self._server.name == "postgres":
                    connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")
            except sa.exc.DBAPIError:
                return True
            finally:
                connection.rollback()
        return False

    def _statement(self, table: str, record: Record) -> str:
        if isinstance(record, int):
            return f"DELETE FROM {table} WHERE id = {record}"
        value = "NULL" if record[1] is None else record[1]
        end = {"postgres": "ON CONFLICT (id) DO UPDATE SET v = excluded.v", "mariadb": "ON DUPLICATE KEY UPDATE v = v"}
        made = f"INSERT INTO {table} (id, v) VALUES ({record[0]}, {value})"
        return f"{made} {end[self._server.name]}" if self._is_upsert else made

    def _opened(self) -> JdbcSinkTask:
        if self._task is None:
            self._task = made(self._server, self._ctx, **self._settings)
        return self._task

    def _close(self) -> None:
        if self._task is not None:
            self._task.close()
            self._task = None


def rows_of(server: Server) -> list[Pair]:
    """Return the rows of a table in any order."""
    with server.engine.connect() as connection:
        return [(row[0], row[1]) for row in connection.exec_driver_sql(f"SELECT id, v FROM {server.table}")]
