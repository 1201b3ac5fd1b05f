"""Reads tables of a real Firebird into records, and writes records into its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import jdbc_sink_target as target
import pyarrow as pa
import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from sql_services import installed

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.arrow import arrow_type
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services.firebird import FirebirdEndpoint, FirebirdService
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector, JdbcSinkTask
from connectors.jdbc.source.connector import JdbcSourceConnector
from connectors.jdbc.source.task import JdbcSourceTask

TYPES = """
  ID BIGINT NOT NULL PRIMARY KEY, SM SMALLINT, I INTEGER, N NUMERIC(10,2), D DECIMAL(18,4), R FLOAT,
  DP DOUBLE PRECISION, BO BOOLEAN, C CHAR(3), V VARCHAR(40), TX BLOB SUB_TYPE TEXT, B BLOB, O VARCHAR(4) CHARACTER SET
  OCTETS, DD DATE, TT TIME, TS TIMESTAMP
"""
VALUES = """
  1, -32768, 2147483647, 12345678.90, -99999999999999.9999, 0.1, 0.1, TRUE, 'ab', 'Straße 🙂', 'long text', x'00ff',
  x'0102', '2024-02-29', '23:59:59.9990', '2024-02-29 12:34:56.7890'
"""


@dataclass(frozen=True)
class Firebird:
    """A database of a server, with a table of the test's own."""

    endpoint: FirebirdEndpoint
    engine: sa.Engine
    table: str

    @property
    def url(self) -> str:
        return f"jdbc:firebirdsql://{self.endpoint.host}:{self.endpoint.port}/{self.endpoint.database}?encoding=UTF8"

    def run(self, *statements: str) -> None:
        """Run each statement in a transaction of its own, as tables are there for others behind a commit alone."""
        for statement in statements:
            with self.engine.begin() as connection:
                connection.exec_driver_sql(statement.format(t=self.table))

    def settings(self, **more: object) -> dict[str, str]:
        given = {
            "connection.url": self.url, "connection.user": self.endpoint.user,
            "connection.password": self.endpoint.password, **EVERYWHERE,
        }  # fmt: skip
        return given | {name.replace("__", "."): str(value) for name, value in more.items()}

    def source(self, store: OffsetStore, **more: object) -> JdbcSourceTask:
        given = self.settings(**{
            "topic__prefix": "db-", "table__whitelist": self.table, "poll__interval__ms": 20, "poll__linger__ms": 60,
            "settle__time__ms": 0, **more,
        })  # fmt: skip
        planned = JdbcSourceConnector(JdbcSourceConfig.parse(given))
        planned.check(Deadline.after(60))
        (config,) = planned.task_configs(1)
        task = planned.task({**config, **EVERYWHERE})
        task.open(store)
        return task

    def sink(self, **more: object) -> JdbcSinkTask:
        given = self.settings(**more)
        task = JdbcSinkConnector(JdbcSinkConfig.parse(given)).task(given)
        task.open(FakeSinkContext())
        task.assigned([TopicPartition(self.table, 0)])
        return task

    def rows(self, columns: str = "*") -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return sorted(tuple(row) for row in connection.exec_driver_sql(f'SELECT {columns} FROM "{self.table}"'))


@pytest.fixture(scope="module")
def server() -> Iterator[FirebirdEndpoint]:
    with installed(FirebirdService()) as service:
        yield service.endpoint


@pytest.fixture
def firebird(server: FirebirdEndpoint, unique: str) -> Iterator[Firebird]:
    assert dialect_of("jdbc:firebirdsql:").connecting.ping  # from then on SQLAlchemy has the completed dialect
    where = {"host": server.host, "port": server.port, "database": str(server.database), "query": {"charset": "UTF8"}}
    url = sa.URL.create("firebird+firebird", server.user, server.password, **where)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    yield Firebird(server, engine, unique.upper().replace("-", "_")[:24])
    engine.dispose()


def test_every_type_comes_as_java_tells_it(firebird: Firebird) -> None:
    firebird.run("CREATE TABLE {t} (" + TYPES + ")", "INSERT INTO {t} VALUES (" + VALUES + ")")
    firebird.run("INSERT INTO {t} (ID) VALUES (2)")
    store = OffsetStore()
    task = firebird.source(store, mode="bulk", poll__interval__ms=600_000)
    read = batches(task, store)
    task.close()
    full, empty = rows(read)
    assert full == {
        "ID": 1, "SM": -32768, "I": 2147483647, "N": Decimal("12345678.90"), "D": Decimal("-99999999999999.9999"),
        "R": pytest.approx(0.1), "DP": 0.1, "BO": True, "C": "ab ", "V": "Straße 🙂", "TX": "long text",
        "B": b"\x00\xff", "O": b"\x01\x02", "DD": date(2024, 2, 29), "TT": time(23, 59, 59, 999000),
        "TS": full["TS"],
    }  # fmt: skip
    assert full["TS"].replace(tzinfo=None) == datetime(2024, 2, 29, 12, 34, 56, 789000)  # noqa: DTZ001 - as the column has it
    assert set(empty.values()) == {2, None}
    assert (read[0].topic, read[0].values.schema.name) == (f"db-{firebird.table}", firebird.table)
    kinds = {field.name: field.schema.type for field in read[0].values.schema.fields}
    assert [kinds[name] for name in ("ID", "SM", "I", "R", "DP", "B", "O", "TX")] == [
        s.Type.INT64, s.Type.INT16, s.Type.INT32, s.Type.FLOAT32, s.Type.FLOAT64, s.Type.BYTES, s.Type.BYTES,
        s.Type.STRING,
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["BIGINT", "VARCHAR(20)"])
def test_a_bulk_read_goes_on_behind_its_last_key(firebird: Firebird, key: str) -> None:
    firebird.run("CREATE TABLE {t} (ID " + key + " NOT NULL PRIMARY KEY, V INTEGER)")
    firebird.run(*(f"INSERT INTO {{t}} VALUES ({i}, {i})" for i in range(10, 40)))
    store = OffsetStore()
    settings = {"mode": "bulk", "poll__interval__ms": 600_000, "batch__max__rows": 7}
    task = firebird.source(store, **settings)
    first = batches(task, store, at_most=2)
    task.close()
    task = firebird.source(store, **settings)
    rest = batches(task, store)
    task.close()
    assert len(rows(first)) == 14
    assert [row["V"] for row in rows([*first, *rest])] == list(range(10, 40))


def test_new_and_changed_rows_come_once(firebird: Firebird) -> None:
    firebird.run("CREATE TABLE {t} (ID INTEGER NOT NULL PRIMARY KEY, TS TIMESTAMP NOT NULL)")
    firebird.run(*(f"INSERT INTO {{t}} VALUES ({i}, '2024-01-01 00:00:0{i // 3}')" for i in range(1, 9)))
    store = OffsetStore()
    both = {"mode": "timestamp+incrementing", "timestamp__column__name": "TS", "incrementing__column__name": "ID"}
    task = firebird.source(store, **both, batch__max__rows=3)
    assert [row["ID"] for row in rows(batches(task, store))] == list(range(1, 9))
    firebird.run("UPDATE {t} SET TS = '2024-01-02' WHERE ID = 4", "INSERT INTO {t} VALUES (9, '2024-01-03')")
    assert [row["ID"] for row in rows(batches(task, store))] == [4, 9]
    task.close()


def test_a_row_whose_transaction_commits_late_is_not_passed_over(firebird: Firebird) -> None:
    firebird.run("CREATE TABLE {t} (ID INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, V INTEGER)")
    store = OffsetStore()
    insert = f"INSERT INTO {firebird.table} (V) VALUES (1)"
    with firebird.engine.connect() as late, firebird.engine.connect() as soon:
        late.exec_driver_sql(insert)
        soon.exec_driver_sql(insert)
        soon.commit()
        task = firebird.source(store, mode="incrementing", incrementing__column__name="ID")
        assert rows(batches(task, store)) == []  # the second row waits for the first
        late.commit()
    assert [row["ID"] for row in rows(batches(task, store, quiet_s=3))] == [1, 2]
    task.close()


def test_its_clock_is_in_utc(firebird: Firebird) -> None:
    with firebird.engine.connect() as connection:
        now: datetime = connection.execute(sa.select(dialect_of(firebird.url).cursors.clock)).scalar_one()
    assert abs(now - datetime.utcnow()) < timedelta(minutes=5)  # noqa: DTZ003 - the server tells no zone


def test_records_become_rows_of_a_table_that_is_made_and_widened(firebird: Firebird) -> None:
    task = firebird.sink(insert__mode="upsert", pk__mode="record_key", auto__create="true", auto__evolve="true",
                         delete__enabled="true")  # fmt: skip
    assert target.put(task, target.batch(firebird, [(1, 10), (2, 20), (3, None)])) == {}
    assert firebird.rows('"id", "v"') == [(1, 10), (2, 20), (3, None)]
    assert target.put(task, target.batch(firebird, [(2, 21), 1, (4, 40)], first=3)) == {}
    assert firebird.rows('"id", "v"') == [(2, 21), (3, None), (4, 40)]
    wider = s.struct({"id": s.INT64, "v": s.INT64.as_optional(), "note": s.STRING.as_optional()}, optional=True)
    values = Column.from_arrow(pa.array([{"id": 5, "v": 1, "note": "ö"}], arrow_type(wider)), wider)
    keys = Column.from_arrow(pa.array([{"id": 5}], arrow_type(target.KEY)), target.KEY)
    place = Consumed(TopicPartition(firebird.table, 0), pa.array([6], pa.int64()), 7)
    assert target.put(task, Batch(firebird.table, values, keys, partition=0, consumed=place)) == {}
    assert firebird.rows('"id", "v", "note"')[-1] == (5, 1, "ö")
    task.close()


def test_every_type_of_a_record_has_a_column(firebird: Firebird) -> None:
    schema = s.struct({
        "id": s.INT64, "b": s.BOOLEAN, "f": s.FLOAT64, "t": s.STRING, "x": s.BYTES, "m": s.decimal(2, precision=10),
        "d": s.DATE_SCHEMA, "c": s.TIME_SCHEMA, "ts": s.TIMESTAMP_SCHEMA,
    })  # fmt: skip
    row = {
        "id": 7, "b": True, "f": 0.5, "t": "x" * 40_000, "x": b"\x00\x01", "m": Decimal("-1.25"),
        "d": date(2024, 2, 29), "c": time(1, 2, 3), "ts": datetime(2024, 2, 29, 1, 2, 3, 456000),  # noqa: DTZ001 - a column of the wall clock
    }  # fmt: skip
    values = Column.from_arrow(pa.array([row], arrow_type(schema)), schema)
    place = Consumed(TopicPartition(firebird.table, 0), pa.array([0], pa.int64()), 1)
    task = firebird.sink(auto__create="true", pk__mode="record_value", pk__fields="id")
    assert target.put(task, Batch(firebird.table, values, None, partition=0, consumed=place)) == {}
    task.close()
    names = ", ".join(f'"{name}"' for name in row)
    assert firebird.rows(names) == [tuple(row.values())]


def test_one_bad_row_is_one_bad_row(firebird: Firebird) -> None:
    firebird.run('CREATE TABLE {t} ("id" BIGINT NOT NULL PRIMARY KEY, "v" SMALLINT)')
    task = firebird.sink(pk__mode="record_key")
    refused = target.put(task, target.batch(firebird, [(1, 1), (2, 70_000), (3, 3), (1, 5)]))
    assert sorted(refused) == [1, 3]
    assert firebird.rows('"id", "v"') == [(1, 1), (3, 3)]
    task.close()


def test_a_wrong_password_is_told_and_a_server_that_is_away_is_waited_for(firebird: Firebird) -> None:
    given = firebird.settings(mode="bulk", topic__prefix="t", table__whitelist=firebird.table)
    wrong = Database(JdbcSourceConfig.parse(given | {"connection.password": "no-such-word"}))
    with pytest.raises(ConnectError, match=r"(?i)user name and password") as told:
        wrong.connection.closed  # noqa: B018 - connects
    assert "no-such-word" not in str(told.value)
    assert not isinstance(told.value, RetriableError)
    away = Database(JdbcSourceConfig.parse(given | {"connection.url": "jdbc:firebirdsql://127.0.0.1:1/shop"}))
    with pytest.raises(RetriableError, match=r"127\.0\.0\.1:1/shop"):
        away.connection.closed  # noqa: B018 - connects


@pytest.mark.parametrize("asked", ["ENABLED", "REQUIRED", "DISABLED"])
def test_the_wire_is_encrypted_as_the_url_says(firebird: Firebird, asked: str) -> None:
    given = firebird.settings(mode="bulk", topic__prefix="t", table__whitelist=firebird.table)
    database = Database(JdbcSourceConfig.parse(given | {"connection.url": f"{firebird.url}&wireCrypt={asked}"}))
    if asked == "DISABLED":  # which the server, as it is installed, does not allow
        with pytest.raises(ConnectError, match="Incompatible wire encryption levels"):
            database.connection.closed  # noqa: B018 - connects
        return
    assert database.connection.execute(sa.text("SELECT 1 FROM RDB$DATABASE")).scalar() == 1
    database.close()


def test_two_servers_that_have_the_same_path_are_not_taken_for_each_other(firebird: Firebird) -> None:
    made = firebird.engine.dialect.create_connect_args
    one, other = (sa.make_url(f"firebird://{host}/shop.fdb?role=R&fb_client_library=/x.so") for host in ("a", "[::1]"))
    assert made(one) == ([], {"database": "inet://a:3050/shop.fdb", "role": "R"})
    assert made(other) == ([], {"database": "inet://[::1]:3050/shop.fdb", "role": "R"})
