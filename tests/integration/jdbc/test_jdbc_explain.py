"""A missing index is told by what the database's EXPLAIN says, and is never an error."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from jdbc_drive import OffsetStore, batches, opened, rows, run_sql
from jdbc_server import Server

from connect.lib.deadline import Deadline

BY_ID = {"mode": "incrementing", "incrementing__column__name": "id"}
BY_TIME = {"mode": "timestamp", "timestamp__column__name": "ts"}
BOTH = {"mode": "timestamp", "timestamp__column__name": "ts,made"}
TABLE = "CREATE TABLE {t} (id BIGINT NOT NULL, ts TIMESTAMP(3) NOT NULL, made TIMESTAMP(3) NULL, a VARCHAR(9))"
ROW = "INSERT INTO {t} VALUES (1, '2024-01-01 00:00:00', '2024-01-01 00:00:00', 'x')"


def warned(caplog: pytest.LogCaptureFixture, about: str = "no index") -> list[str]:
    found = [r.getMessage() for r in caplog.records if about in r.getMessage() and r.levelno == logging.WARNING]
    caplog.clear()
    return found


def test_a_missing_index_is_a_warning_until_there_is_one(server: Server, caplog: pytest.LogCaptureFixture):
    server.run(TABLE, ROW)
    query = f"SELECT id, ts AS at FROM {server.table} WHERE a = 'x'"
    asked = {
        "id": BY_ID,
        "ts": BY_TIME,
        "coalesce(ts, made)": BOTH,
        "its order": {**BY_ID, "query": query, "table__whitelist": None},
    }

    def told(what: str) -> bool:
        store = OffsetStore()
        task = server.opened(store, **asked[what])
        read = rows(batches(task, store, at_most=1))
        task.close()
        assert [row["id"] for row in read] == [1]
        return any(what in text for text in warned(caplog))

    assert [what for what in asked if told(what)] == list(asked)
    server.run("CREATE INDEX {t}_id ON {t} (id)", "CREATE INDEX {t}_ts ON {t} (ts)")
    assert not told("id")
    assert not told("ts")
    assert not told("its order")
    if server.name == "postgres":
        server.run("CREATE INDEX {t}_both ON {t} (coalesce(ts, made))")
        assert not told("coalesce(ts, made)")


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
@pytest.mark.parametrize("change", ["CACHE 20", "INCREMENT -1 MINVALUE -9", ""])
def test_ids_that_are_not_given_out_in_order_are_told(server: Server, change: str, caplog: pytest.LogCaptureFixture):
    name = f"{server.table} é"
    server.run(f'CREATE TABLE "{name}" (id BIGSERIAL PRIMARY KEY)')
    if change:
        server.run(f'ALTER SEQUENCE "{name}_id_seq" {change}')
    server.opened(OffsetStore(), **BY_ID, table__whitelist=name).close()
    told = [r.getMessage() for r in caplog.records if "smaller id" in r.getMessage() and r.levelno == logging.WARNING]
    assert len(told) == bool(change)
    assert all("_id_seq" in text for text in told)


@pytest.mark.parametrize(
    ("server", "change", "is_told"),
    [
        ("postgres", "CACHE 20", True), ("postgres", "INCREMENT -1 MINVALUE -9 MAXVALUE 9", True),
        ("postgres", "CYCLE", True), ("postgres", "", False), ("mariadb", "INCREMENT -1 MINVALUE -9 MAXVALUE 9", True),
        ("mariadb", "MAXVALUE 9 CYCLE", True), ("mariadb", "CACHE 20", False),
    ],
    indirect=["server"],
)  # fmt: skip
def test_a_sequence_that_the_default_names_is_told_like_the_columns_own(
    server: Server, change: str, is_told: bool, caplog: pytest.LogCaptureFixture
):
    schema = "public" if server.name == "postgres" else "connect"
    default = f"nextval('public.{server.table}_other')" if server.name == "postgres" else "NEXT VALUE FOR {t}_other"
    server.run(
        f"CREATE SEQUENCE {schema}.{{t}}_other {change}",
        f"CREATE TABLE {{t}} (id BIGINT PRIMARY KEY DEFAULT {default})",
    )
    server.opened(OffsetStore(), **BY_ID).close()
    told = warned(caplog, "smaller id")
    assert len(told) == is_told
    assert all(f"{server.table}_other" in text for text in told)


def test_ids_that_no_poll_reads_are_told_where_reading_begins(server: Server, caplog: pytest.LogCaptureFixture):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY)", "INSERT INTO {t} VALUES (-7), (5)")
    server.opened(OffsetStore(), **BY_ID).close()
    (told,) = warned(caplog, "ids up to -1 are never read")
    assert "incrementing.initial=-8" in told
    server.opened(OffsetStore(), **BY_ID, incrementing__initial=-8).close()
    assert warned(caplog, "never read, as") == []


def test_a_stored_offset_beyond_all_rows_is_told(server: Server, caplog: pytest.LogCaptureFixture):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY)", "INSERT INTO {t} VALUES (1), (2), (3)")
    store = OffsetStore()
    task = server.opened(store, **BY_ID)
    assert len(rows(batches(task, store))) == 3
    # Transactions of other tests that began before these rows hold the stored id back.
    deadline = Deadline.after(120)
    while json.loads(*store.offsets.values()).get("incrementing") != 3:
        batches(task, store)
        assert deadline.wait(0.01), store.offsets
    task.close()
    server.opened(store, **BY_ID).close()
    assert warned(caplog, "are not read") == []
    server.run("DELETE FROM {t}", "INSERT INTO {t} VALUES (1), (2)")
    server.opened(store, **BY_ID).close()
    (told,) = warned(caplog, "are not read")
    assert "ids up to 3 are not read" in told
    assert "the largest id is 2" in told


def test_a_missing_index_of_sqlite_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "a.db"
    run_sql(path, TABLE.format(t="t"), ROW.format(t="t"))
    for what, settings in (("id", BY_ID), ("ts", BY_TIME), ("coalesce(ts, made)", BOTH)):
        opened(path, OffsetStore(), table__whitelist="t", **settings).close()
        assert [what in text for text in warned(caplog)] == [True], what
    run_sql(path, "CREATE INDEX i ON t (id)", "CREATE INDEX j ON t (ts)", "CREATE INDEX k ON t (coalesce(ts, made))")
    for settings in (BY_ID, BY_TIME, BOTH):
        opened(path, OffsetStore(), table__whitelist="t", **settings).close()
        assert warned(caplog) == []
