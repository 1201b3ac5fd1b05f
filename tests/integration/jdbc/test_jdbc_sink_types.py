"""Writes every type of records into tables of PostgreSQL and MariaDB, and reads them by the databases' clients, value
by value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from jdbc_server import JDBC, Server

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.arrow import arrow_type
from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.api.time_types import TIME_TYPES
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector, JdbcSinkTask

pytestmark = pytest.mark.integration
TEXTS = ("", "naïve 漢字 \U0001f980", "a\n\r\t\"'`\\,;%s%%b", "\\.", "x\n\\.\ny", "NULL", "\\N", " padded ")
MIDNIGHT = datetime(2000, 1, 1, tzinfo=UTC)
BEFORE_1970 = datetime.fromisoformat("1969-12-31T23:59:59.999999")
MOMENT = datetime(2024, 3, 31, 1, 30, 0, 123000, UTC)


@contextmanager
def opened(server: Server, **settings: str) -> Iterator[JdbcSinkTask]:
    e = server.endpoint
    given = {
        "connection.url": f"jdbc:{JDBC[server.name]}://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
        "connection.password": e.password, "auto.create": "true", "insert.mode": "upsert", "pk.mode": "record_value",
        "pk.fields": "id",
    }  # fmt: skip
    given |= {name.replace("__", "."): value for name, value in settings.items()}
    task = JdbcSinkConnector(JdbcSinkConfig.parse({**given, **EVERYWHERE})).task({**given, **EVERYWHERE})
    task.open(FakeSinkContext())
    try:
        yield task
    finally:
        task.close()


def put(task: JdbcSinkTask, topic: str, schema: s.Schema, values: Sequence[Any]) -> dict[int, str]:
    """Rows of an id and a value; the reasons of those that are rejected."""
    struct = s.struct({"id": s.INT64, "v": schema})
    rows = [{"id": i, "v": value} for i, value in enumerate(values)]
    offsets = pa.array(range(len(rows)), pa.int64())
    batch = Batch(
        topic, Column.from_arrow(pa.array(rows, arrow_type(struct)), struct), partition=0,
        consumed=Consumed(TopicPartition(topic, 0), offsets, len(rows)),
    )  # fmt: skip
    try:
        task.put(batch, Deadline.after(60))
    except RejectedRowsError as error:
        return {row: str(why) for row, why in error.rows.items()}
    return {}


def values_of(server: Server, expression: str = "v") -> list[Any]:
    with server.engine.connect() as connection:
        return [row[0] for row in connection.exec_driver_sql(f"SELECT {expression} FROM {server.table} ORDER BY id")]


CASES: Mapping[str, tuple[s.Schema, Sequence[Any]]] = {
    "int8": (s.INT8, (-128, 0, 127)),
    "int16": (s.INT16, (-(2**15), 2**15 - 1)),
    "int32": (s.INT32, (-(2**31), 2**31 - 1)),
    "int64": (s.INT64.as_optional(), (-(2**63), None, 2**53 + 1, 2**63 - 1)),
    "float64": (s.FLOAT64, (0.1, 5e-324, 1.7976931348623157e308, -1e22)),
    "string": (s.STRING.as_optional(), (None, *TEXTS)),
    "bytes": (s.BYTES.as_optional(), (b"", None, bytes(range(256)), b"'\\", bytes(range(256)) * 5000)),
    "decimal": (s.decimal(9, precision=38), (Decimal("0.000000001"), Decimal("-12345678901234567890.500000000"))),
    "date": (s.DATE_SCHEMA, (date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31))),
    "array of structs": (s.array(s.struct({"a": s.INT32.as_optional()})), ([], [{"a": None}, {"a": 7}])),
    "map": (s.map_of(s.STRING, s.FLOAT64), ({}, {'ke"y': 0.1})),
    "struct": (s.struct({"b": s.struct({"c": s.STRING})}, optional=True), (None, {"b": {"c": "naïve"}})),
}


@pytest.mark.parametrize("case", CASES)
def test_a_table_that_is_made_holds_every_value(server: Server, case: str):
    schema, values = CASES[case]
    with opened(server) as task:
        assert put(task, server.table, schema, values) == {}
        assert put(task, server.table, schema, values) == {}, "written once more, by the same keys"
    found = values_of(server)
    if schema.type in {s.Type.ARRAY, s.Type.MAP, s.Type.STRUCT}:
        found = [json.loads(one) if isinstance(one, str) else one for one in found]
    assert found == list(values)
    assert [type(one) for one in found] == [type(one) for one in values]


def test_floats_of_32_bits_and_booleans(server: Server):
    with opened(server) as task:
        assert put(task, server.table, s.FLOAT32, (0.5, 2.0**-126, float(2**24 + 2))) == {}
    assert values_of(server, "v + CAST(0 AS DECIMAL)" if server.name == "mariadb" else "v::float8")[0] == 0.5
    exact = "v + 0e0" if server.name == "mariadb" else "v::float8"
    assert values_of(server, exact) == [0.5, 2.0**-126, float(2**24 + 2)]
    server.run("DROP TABLE {t}")
    with opened(server) as task:
        assert put(task, server.table, s.BOOLEAN, (True, False)) == {}
    assert [bool(one) for one in values_of(server)] == [True, False]


def test_times_are_wall_clocks_of_the_zone(server: Server):
    berlin = MOMENT + timedelta(hours=2)  # 01:30 in UTC is behind the change to summer time
    with opened(server, db__timezone="Europe/Berlin", date__timezone="UTC") as task:
        assert put(task, server.table, s.TIMESTAMP_SCHEMA.as_optional(), (MOMENT, None)) == {}
    assert values_of(server) == [berlin.replace(tzinfo=None), None]
    server.run("DROP TABLE {t}")
    with opened(server) as task:
        assert put(task, server.table, s.TIME_SCHEMA, (time(0), time(23, 59, 59, 999000))) == {}
    as_time = [(MIDNIGHT + one).time() if isinstance(one, timedelta) else one for one in values_of(server)]
    assert as_time == [time(0), time(23, 59, 59, 999000)]


def test_a_date_west_of_greenwich_is_as_in_java_unless_date_timezone_says_otherwise(server: Server):
    for day, settings in ((date(2024, 2, 29), {}), (date(2024, 3, 1), {"date__timezone": "UTC"})):
        with opened(server, db__timezone="America/New_York", **settings) as task:
            assert put(task, server.table, s.DATE_SCHEMA, (date(2024, 3, 1),)) == {}
        assert values_of(server) == [day]


COLUMNS = [
    (
        "TIMESTAMP(6)",
        TIME_TYPES["MicroTimestamp"],
        1_711_848_600_123_456,
        datetime.fromisoformat("2024-03-31T01:30:00.123456"),
    ),
    ("TIMESTAMP(6)", TIME_TYPES["NanoTimestamp"], -1, BEFORE_1970),
    ("DATE", TIME_TYPES["Date"], 19_000, date(2022, 1, 8)),
    ("INT", s.STRING, "17", 17),
    ("VARCHAR(40)", s.INT64, 17, "17"),
    ("VARCHAR(40)", s.BOOLEAN, True, "true"),
    ("DECIMAL(20, 3)", s.FLOAT64, 0.125, Decimal("0.125")),
    ("BIGINT", TIME_TYPES["MicroTimestamp"], 17, 17),
]


@pytest.mark.parametrize(("column", "schema", "value", "found"), COLUMNS, ids=lambda v: str(getattr(v, "name", v)))
def test_the_type_of_a_column_that_is_there_decides(server: Server, column, schema, value, found):
    if server.name == "mariadb" and found == BEFORE_1970:
        column = "DATETIME(6)"
    server.run(f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY, v {column} NULL)")
    with opened(server) as task:
        assert put(task, server.table, schema, (value,)) == {}
    if isinstance(found, datetime) and server.name == "mariadb":
        assert values_of(server, "CAST(v AS CHAR)") == [found.isoformat(" ", "microseconds")]
    else:
        assert values_of(server) == [found]


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_postgres_has_types_of_its_own(server: Server):
    server.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, v UUID, at TIMESTAMPTZ, tags TEXT[], body JSONB, ip INET)",
    )
    schema = s.struct({
        "id": s.INT64, "v": s.STRING, "at": s.TIMESTAMP_SCHEMA, "tags": s.array(s.STRING.as_optional()),
        "body": s.STRING, "ip": s.STRING,
    })  # fmt: skip
    row = {
        "id": 1, "v": "6f1c2a6e-6b8f-4a59-8d0f-0f1b7f3f3f10", "at": MOMENT,
        "tags": ["a,b", '"', "\\", None, "NULL", ""],
        "body": '{"a": [1, 2]}', "ip": "10.0.0.1/8",
    }  # fmt: skip
    array = pa.array([row], arrow_type(schema))
    consumed = Consumed(TopicPartition(server.table, 0), pa.array([0], pa.int64()), 1)
    with opened(server, db__timezone="Asia/Tokyo") as task:
        task.put(
            Batch(server.table, Column.from_arrow(array, schema), partition=0, consumed=consumed), Deadline.after(9)
        )
    with server.engine.connect() as connection:
        (found,) = connection.exec_driver_sql(f"SELECT v, at, tags, body, host(ip) FROM {server.table}").fetchall()
    assert tuple(found) == (UUID(row["v"]), MOMENT, row["tags"], {"a": [1, 2]}, "10.0.0.1")


def test_what_a_column_does_not_hold_is_a_bad_row(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, v SMALLINT NOT NULL)")
    with opened(server) as task:
        bad = put(task, server.table, s.INT32.as_optional(), (1, 70_000, 2, None, 3))
    assert bad.keys() == {1, 3}
    assert values_of(server) == [1, 2, 3]
    server.run("DROP TABLE {t}", "CREATE TABLE {t} (id BIGINT PRIMARY KEY, v DOUBLE PRECISION)")
    with opened(server) as task:
        bad = put(task, server.table, s.FLOAT64, (math.nan, 1.0))
    assert bad.keys() == ({0} if server.name == "mariadb" else set())
    server.run("DROP TABLE {t}", "CREATE TABLE {t} (id BIGINT PRIMARY KEY, v TIMESTAMP NULL)")
    with opened(server) as task:
        assert put(task, server.table, s.INT64, (20_240_101, 5)).keys() == {0, 1}, "a number is no time"
