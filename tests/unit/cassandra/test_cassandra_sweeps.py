"""Checks how often tables are read and which rows count; stream-reactor's settings; which columns are wanted."""

from __future__ import annotations

from uuid import UUID

import pytest

from connect.api.errors import ConfigError, ConnectError
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import NO_MOMENT, Page, moments_ms, split_columns
from connectors.cassandra.cql.splits import GREATEST_TOKEN, LEAST_TOKEN, Split
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.rows import TableRows
from connectors.cassandra.source.sweeps import Once, Repeated, Sweep, Window, Windows, moment_ms, sweep_of

TABLE = Table(
    UUID(int=1), "ks", "t", [TableColumn("k", CqlType("int"))], [], [],
    [TableColumn(name, CqlType(kind)) for name, kind in (("at", "timestamp"), ("id", "timeuuid"), ("v", "text"))],
)  # fmt: skip
BASE = {"contact.points": "h", "keyspace": "ks"}


def config(**more: str) -> CassandraSourceConfig:
    return CassandraSourceConfig.parse({**BASE, **{name.replace("__", "."): value for name, value in more.items()}})


def test_windows_follow_on_each_other_and_leave_out_what_may_be_late() -> None:
    mode = Windows(initial_ms=100, settle_ms=30)
    first = mode.first(now_ms=200)
    assert first == Sweep(0, Window(100, 170))
    assert mode.next(first, now_ms=210) == Sweep(1, Window(170, 180))
    assert mode.next(first, now_ms=150) == Sweep(1, Window(170, 170)), "a clock that was put back repeats nothing"


def test_a_snapshot_is_one_sweep_and_bulk_has_no_last_one() -> None:
    assert Once().next(Once().first(1), 2) is None
    assert Repeated().next(Repeated().first(1), 2) == Sweep(1)


def test_a_sweep_is_read_back_from_its_offset() -> None:
    for sweep in (Sweep(), Sweep(3), Sweep(2, Window(-5, 7))):
        assert sweep_of(dict(sweep.offset)) == sweep
    assert sweep_of(None) is None
    assert sweep_of({"token": 1}) == Sweep()
    with pytest.raises(ConnectError, match=r"has the window 1 to None\. Reset"):
        sweep_of({"after_ms": 1})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1900-01-01 00:00:00.0000000Z", -2208988800000),
        ("1970-01-01T00:00:01+00:00", 1000),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1970-01-02", 86_400_000),
    ],
)
def test_a_moment_of_a_sweep_is_read_as_milliseconds(text: str, expected: int) -> None:
    assert moment_ms(text) == expected


def cell(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else len(data).to_bytes(4, "big") + data


def test_times_of_uuids_are_those_that_they_say() -> None:
    texts = ["50554d6e-29bb-11e5-b345-feff819cdc9f", "13814000-1dd2-11b2-8000-000000000000"]
    page = Page(b"".join([*(cell(UUID(text).bytes) for text in texts), cell(None)]), 3, 1)
    found = moments_ms(split_columns(page)[0], CqlType("timeuuid"))
    assert found.tolist() == [(UUID(texts[0]).time - 0x01B21DD213814000) // 10_000, 0, NO_MOMENT]


def rows_of(page: Page, sweep: Sweep, settings: CassandraSourceConfig) -> list[dict]:
    split = Split(TABLE, LEAST_TOKEN, GREATEST_TOKEN)
    batch = TableRows(TABLE, settings).batch(split, page, sweep, is_last=False)
    assert batch.position is not None
    assert batch.position.offset is not None
    assert batch.position.offset["token"] == 7
    assert len(batch.keys) == len(batch.values)
    return list(batch.values.rows())


def page_of(*times_ms: int | None) -> Page:
    token, uuid = cell((7).to_bytes(8, "big")), cell(UUID(int=0).bytes)
    cells = [
        token
        + cell(number.to_bytes(4, "big"))
        + cell(None if at is None else at.to_bytes(8, "big"))
        + uuid
        + cell(b"v")
        for number, at in enumerate(times_ms)
    ]
    return Page(b"".join(cells), len(times_ms), 5)


def test_rows_in_the_window_count_and_the_place_is_behind_all_of_them() -> None:
    settings = config(mode="timestamp", incremental__columns="at")
    found = rows_of(page_of(10, 11, None, 20, 21), Sweep(0, Window(10, 20)), settings)
    assert [row["k"] for row in found] == [1, 3]
    assert rows_of(page_of(1, 2), Sweep(0, Window(10, 20)), settings) == []
    assert len(rows_of(page_of(1, None), Sweep(), config())) == 2


def test_only_the_columns_that_are_wanted_are_in_the_value() -> None:
    assert rows_of(page_of(5), Sweep(), config(table__columns="t:v|k")) == [{"v": "v", "k": 0}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"mode": "timestamp", "incremental__columns": "v"},
            "Column v of table ks.t is of type text, and mode=timestamp",
        ),
        ({"mode": "timeuuid", "incremental__columns": "t:at"}, "is of type timestamp, and mode=timeuuid"),
        ({"mode": "timeuuid", "incremental__columns": "nope"}, "has no column 'nope'. It has: k, at, id, v"),
        ({"table__columns": "t:v|x"}, "has no column 'x'"),
    ],
)
def test_columns_that_do_not_fit_are_named(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TableRows(TABLE, config(**settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "timestamp"}, "mode=timestamp needs incremental.columns"),
        ({"mode": "often"}, "must be one of: snapshot, bulk, timestamp, timeuuid"),
        ({"topic__prefix": "a b"}, "'a b' is no name for a topic"),
        ({"table__topics": "t"}, "table.topics holds 't': write table:value"),
        ({"initial__offset": "soon"}, "Must be a moment"),
        ({"consistency__level": "SOME"}, "must be one of"),
    ],
)
def test_broken_settings_are_named(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**settings)


LENSES = {
    "connect.cassandra.contact.points": "10.0.0.1,10.0.0.2", "connect.cassandra.port": "9043",
    "connect.cassandra.key.space": "shop", "connect.cassandra.username": "u", "connect.cassandra.password": "secret",
}  # fmt: skip


def test_stream_reactors_settings_count() -> None:
    kcql = (
        "INSERT INTO `orders-topic` SELECT id, at FROM orders PK at INCREMENTALMODE=TIMESTAMP;"
        "insert into b select * from c PK w incrementalmode=timestamp WITHKEY(id);"
    )
    made = CassandraSourceConfig.parse({**LENSES, "connect.cassandra.kcql": kcql})
    assert (made.contact_points, made.port, made.keyspace) == (("10.0.0.1", "10.0.0.2"), 9043, "shop")
    assert made.password.get_secret_value() == "secret"
    assert (made.mode, made.tables, made.incremental_columns) == ("timestamp", ("orders", "c"), ("orders:at", "c:w"))
    assert (made.topics, made.table_columns) == ({"orders": "orders-topic", "c": "b"}, ("orders:id|at",))
    assert (made.poll_interval_ms, made.consistency_level) == (1000, "LOCAL_ONE")


@pytest.mark.parametrize(
    ("kcql", "mode"),
    [
        ("INSERT INTO a SELECT * FROM b", "bulk"),
        ("INSERT INTO a SELECT * FROM b PK k INCREMENTALMODE=TOKEN", "snapshot"),
    ],
)
def test_kcql_without_a_time_reads_all_rows(kcql: str, mode: str) -> None:
    assert CassandraSourceConfig.parse({**LENSES, "connect.cassandra.kcql": kcql}).mode == mode


@pytest.mark.parametrize(
    ("kcql", "message"),
    [
        ("SELECT * FROM a", "is not of the form INSERT INTO topic"),
        ("INSERT INTO a SELECT * FROM b PK x INCREMENTALMODE=BUCKETTIMESERIES", "read here are NONE, TIMESTAMP"),
        ("INSERT INTO a SELECT * FROM b INCREMENTALMODE=TIMEUUID", "names no column"),
        ("INSERT INTO a SELECT * FROM b; INSERT INTO c SELECT * FROM d PK x INCREMENTALMODE=TOKEN", "bulk, snapshot"),
        (";", "no KCQL statement"),
    ],
)
def test_kcql_that_is_not_read_here_is_refused(kcql: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        CassandraSourceConfig.parse({**LENSES, "connect.cassandra.kcql": kcql})
    assert raised.value.key == "connect.cassandra.kcql"
