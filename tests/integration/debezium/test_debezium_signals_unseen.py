"""A table is read again while a commit waits for a standby: its row does not come as it was before the commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest
from debezium_shop import Shop

from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.log.postgres.snapshot import TableSnapshot

pytestmark = pytest.mark.timeout(120)
Found = Mapping[str, Sequence[Mapping[str, Any]]]
SETTINGS = {
    "signal.data.collection": "shop.signals", "table.include.list": "shop.orders", "snapshot.mode": "no_data",
}  # fmt: skip
SIGNALS = "CREATE TABLE shop.signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))"
SIGNAL = """INSERT INTO shop.signals VALUES ('1', 'execute-snapshot', '{"data-collections": ["shop.orders"]}')"""
LONG = f"00000000-0000-0000-0000-000000000001:{':'.join(str(number) for number in range(1, 1001, 2))}"
"""The server executed these transactions, too: they are more than SHOW VARIABLES tells."""
HOLDS = {
    "postgres": ("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"),
    "mariadb": (
        "SET GLOBAL rpl_semi_sync_master_timeout = 3600000", "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC",
        "SET GLOBAL rpl_semi_sync_master_enabled = ON",
    ),
    "mysql": (
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
        "SET GLOBAL rpl_semi_sync_source_timeout = 3600000", "SET GLOBAL rpl_semi_sync_source_enabled = ON",
    ),
}  # fmt: skip
LETS_GO = {
    "postgres": ("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"),
    "mariadb": ("SET GLOBAL rpl_semi_sync_master_enabled = OFF",),
    "mysql": ("SET GLOBAL rpl_semi_sync_source_enabled = OFF",),
}


@pytest.fixture(params=["postgres", "mysql", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with ExitStack() as stack:
        shop = Shop(request.param, stack)
        shop.run("DROP TABLE shop.orders", "CREATE TABLE shop.orders (id int PRIMARY KEY, n int)", SIGNALS)
        shop.run("INSERT INTO shop.orders VALUES (1, 0), (2, 0)")
        if shop.kind == "mysql":
            shop.run(f"SET GLOBAL gtid_purged = '+{LONG}'")
        yield shop


def _rows(found: Found) -> list[tuple[str, int, int]]:
    """Return what was told of each row: the operation, and the row behind it."""
    payloads = [record["value"]["payload"] for record in found.get("shop.orders", ())]
    return [(p["op"], p["after"]["id"], p["after"]["n"]) for p in payloads if p["after"]["id"] > 0]


def _held(shop: Shop, ended: threading.Event) -> Callable[[], None]:
    def commit() -> None:
        with shop.session() as run:
            for statement in ("BEGIN", "UPDATE shop.orders SET n = 1 WHERE id = 1", SIGNAL, "COMMIT"):
                run(statement)
        ended.set()

    return commit


def test_a_row_whose_commit_waits_for_a_standby_is_not_read_as_it_was(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    run = shop.connector(**SETTINGS)
    shop.until_streaming([run.until_true], "orders")
    ended = threading.Event()
    holder = threading.Thread(target=_held(shop, ended), daemon=True)
    shop.run(*HOLDS[shop.kind])
    try:
        holder.start()
        run.until_true(lambda found: ("u", 1, 1) in _rows(found))
        run.until_true(lambda found: "is read again once" in caplog.text or _rows(found)[-1][0] == "r")
        assert not ended.is_set()
        assert shop.rows("SELECT n FROM shop.orders WHERE id = 1") == [(0,)], "the commit is not over"
        assert _rows(run.found) == [("u", 1, 1)]
        run.close()
        # The transaction was delivered by the run before, and its commit still waits.
        caplog.clear()
        second = shop.connector(run.offsets, **SETTINGS)
        second.until_true(lambda found: "is read again once" in caplog.text or bool(_rows(found)))
        assert _rows(second.found) == []
        assert not ended.is_set()
    finally:
        shop.run(*LETS_GO[shop.kind])
        holder.join(60)
    assert ended.is_set()
    second.until_true(lambda found: len(_rows(found)) >= 2)
    second.close()
    assert [row for row in _rows(second.found) if row[0] == "r"] == [("r", 1, 1), ("r", 2, 0)]


def _login(config: Mapping[str, str]) -> dict[str, str]:
    keys = {"host": "hostname", "port": "port", "user": "user", "password": "password", "dbname": "dbname"}
    return {argument: config[f"database.{key}"] for argument, key in keys.items()}


def _snapshot(config: Mapping[str, str]) -> TableSnapshot:
    return TableSnapshot(_login(config), ErrorTranslator("shop", (psycopg.Error,)))


def test_open_transactions_hold_no_table_back_where_none_may_wait_for_a_standby() -> None:
    with ExitStack() as stack:
        shop = Shop("postgres", stack)
        plain = {"database.user": "plain", "database.password": "plain"}
        shop.run(
            "DROP TABLE shop.orders", "CREATE TABLE shop.orders (id int PRIMARY KEY, n int)", SIGNALS,
            "INSERT INTO shop.orders VALUES (1, 0), (2, 0)", "CREATE PUBLICATION reading FOR ALL TABLES",
            "CREATE ROLE plain LOGIN REPLICATION PASSWORD 'plain'", "GRANT USAGE ON SCHEMA shop TO plain",
            "GRANT SELECT ON ALL TABLES IN SCHEMA shop TO plain", "CREATE DATABASE other",
        )  # fmt: skip
        run = stack.enter_context(closing(shop.connector(**SETTINGS, **plain)))
        shop.until_streaming([run.until_true], "orders")
        shop.run("BEGIN", "CREATE TABLE shop.prepared ()")
        prepared = shop.rows("SELECT txid_current()")[0][0]
        shop.run("PREPARE TRANSACTION 'prepared'")
        config = shop.config("x")
        session = stack.enter_context(closing(psycopg.connect(**_login(config))))
        other = stack.enter_context(closing(psycopg.connect(**_login({**config, "database.dbname": "other"}))))
        [(idle,)] = session.execute("SELECT txid_current()").fetchall()
        other.execute("SELECT txid_current()")
        shop.run(SIGNAL)
        run.until_true(lambda found: [row for row in _rows(found) if row[0] == "r"] == [("r", 1, 0), ("r", 2, 0)])

        ours, theirs = _snapshot(config), _snapshot(shop.config("x", **plain))
        assert theirs.may_wait_for_standby() == frozenset()
        shop.run(*HOLDS["postgres"])
        while shop.rows("SHOW synchronous_standby_names") != [("nobody",)]:
            pass
        assert ours.may_wait_for_standby() == theirs.may_wait_for_standby() == {prepared, idle}
        for snapshot, uncommitted in ((ours, {prepared, idle}), (theirs, set())):
            snapshot.begin(None)
            assert snapshot.uncommitted() & {prepared, idle} == uncommitted
            snapshot.close()
        shop.run(*LETS_GO["postgres"])


def test_a_table_that_is_published_late_waits_for_what_was_open_then_and_the_log_does_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ExitStack() as stack:
        shop = Shop("postgres", stack)
        shop.run(
            "DROP TABLE shop.orders", "CREATE TABLE shop.orders (id int PRIMARY KEY, n int)", SIGNALS,
            "CREATE TABLE shop.late (id int PRIMARY KEY, n int)", "INSERT INTO shop.late VALUES (1, 0)",
        )  # fmt: skip
        settings = {**SETTINGS, "publication.autocreate.mode": "filtered"}
        first = shop.connector(**settings)
        shop.until_streaming([first.until_true], "orders")
        first.close()
        writer = stack.enter_context(closing(psycopg.connect(**_login(shop.config("x")))))
        writer.execute("INSERT INTO shop.late VALUES (2, 0)")

        both = {**settings, "table.include.list": "shop.orders,shop.late"}
        run = stack.enter_context(closing(shop.connector(first.offsets, **both)))
        shop.until_streaming([run.until_true], "orders")
        shop.run(SIGNAL.replace("shop.orders", "shop.late"))
        run.until_true(lambda found: "may have written to it before it was published" in caplog.text)
        assert not run.found.get("shop.late")
        writer.commit()
        run.until_true(lambda found: len(found.get("shop.late", ())) >= 2)
        told = [record["value"]["payload"] for record in run.found["shop.late"]]
        assert [(p["op"], p["after"]["id"]) for p in told] == [("r", 1), ("r", 2)]
