"""XA transactions that are prepared while mode=log begins to read tables, on real servers.

The log has their rows where they were prepared, so that neither a snapshot before XA COMMIT nor the log behind it has
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from jdbc_log import log_run
from jdbc_server import Server

from connectors.jdbc.log.mysql import reader as mysql_reader

pytestmark = pytest.mark.parametrize("server", ["mariadb", "mysql"], indirect=True)


@contextmanager
def prepared(server: Server) -> Iterator[Any]:
    """Yield a cursor whose transaction has inserted 2 and is prepared."""
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    raw = server.engine.raw_connection()
    try:
        cursor = raw.cursor()
        insert = f"INSERT INTO {server.table} VALUES (2)"
        for statement in ("XA START '{t}'", insert, "XA END '{t}'", "XA PREPARE '{t}'"):
            cursor.execute(statement.format(t=server.table))
        yield cursor
    finally:
        raw.invalidate()


def test_a_first_read_waits_for_prepared_transactions(server: Server):
    with prepared(server) as cursor, log_run(server) as run:
        run.open()
        run.until(lambda: "The first read waits for XA transactions that are prepared" in (run.store.explained or ""))
        assert server.table in str(run.store.explained)
        cursor.execute(f"XA COMMIT '{server.table}'")
        run.until_events(2)
        assert [(value["op"], value["after"]["id"]) for _, _, value in run.events] == [("r", 1), ("r", 2)]
        run.poll()
        assert "XA" not in (run.store.explained or "")


def test_a_first_read_that_cannot_wait_longer_tells_whose_rows_are_missing(server: Server, monkeypatch, caplog):
    monkeypatch.setattr(mysql_reader, "_PREPARED_S", 0.1)
    with prepared(server) as cursor, log_run(server) as run:
        run.open()
        run.until_events(1)
        cursor.execute(f"XA COMMIT '{server.table}'")
        server.run("INSERT INTO {t} VALUES (3)")
        run.until_events(2)
        told = str(run.store.explained)
    assert [(value["op"], value["after"]["id"]) for _, _, value in run.events] == [("r", 1), ("c", 3)]
    assert f"XA transactions were prepared when the read of the tables began: {server.table}." in told
    assert told.partition(". ")[0] in caplog.text


def test_a_transaction_that_is_committed_right_behind_the_snapshot_is_told(server: Server, monkeypatch):
    monkeypatch.setattr(mysql_reader, "_PREPARED_S", 0.0)
    begin = mysql_reader.begin_first_snapshot
    with prepared(server) as cursor, log_run(server) as run:

        def committed_behind(database):
            found = begin(database)
            cursor.execute(f"XA COMMIT '{server.table}'")
            return found

        monkeypatch.setattr(mysql_reader, "begin_first_snapshot", committed_behind)
        run.open()
        run.until_events(1)
        run.poll()
        assert f"prepared when the read of the tables began: {server.table}." in str(run.store.explained)
        assert [(value["op"], value["after"]["id"]) for _, _, value in run.events] == [("r", 1)]
