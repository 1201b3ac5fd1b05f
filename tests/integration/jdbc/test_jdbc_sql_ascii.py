"""Reads a PostgreSQL database in SQL_ASCII, whose text the server does not check: what is not UTF-8 is a bad row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches
from jdbc_log import log_run
from jdbc_server import DRIVERS, Server

from connect.api.errors import ConnectError
from connect.tools.services.sql import SqlEndpoint

BAD = (1, 9, 10, 20)
"""Ids of rows whose text is LATIN1."""
POLLING = {"mode": "incrementing", "incrementing__column__name": "id", "batch__max__rows": 7}


@pytest.fixture(scope="module")
def ascii_database(postgres: SqlEndpoint) -> SqlEndpoint:
    """A database in SQL_ASCII of the shared server."""
    engine = sa.create_engine(_url(postgres), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "CREATE DATABASE unchecked ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    engine.dispose()
    return replace(postgres, database="unchecked")


@pytest.fixture
def server(ascii_database: SqlEndpoint, unique: str) -> Iterator[Server]:
    engine = sa.create_engine(_url(ascii_database), client_encoding="utf8")
    yield Server("postgres", ascii_database, engine, unique)
    engine.dispose()


def _url(endpoint: SqlEndpoint) -> sa.URL:
    e = endpoint
    return sa.URL.create(DRIVERS["postgres"], e.user, e.password, e.host, e.port, e.database)


def _fill(server: Server, ids: range) -> None:
    texts = {i: r"E'caf\351'" if i in BAD else "'café'" for i in ids}
    server.run(*(f"INSERT INTO {{t}} (id, v, name) VALUES ({i}, {text}, 'row {i}')" for i, text in texts.items()))


# The type of `u` is one that native code does not know: the ADBC driver reads the table.
@pytest.mark.parametrize("more", ["", ", u UUID"])
def test_a_polled_row_of_another_encoding_is_one_dead_letter(server: Server, more: str):
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, v TEXT, name VARCHAR(20){more})")
    _fill(server, range(1, 21))
    store = OffsetStore()
    store.tolerates = True
    task = server.opened(store, **POLLING)
    rows = [row for batch in batches(task, store) for row in batch.values.rows()]
    task.close()
    assert [(row["id"], row["v"], row["name"]) for row in rows] == [
        (i, "café", f"row {i}") for i in range(1, 21) if i not in BAD
    ]
    assert [(row["id"], row["v"], row["name"]) for row, _ in store.rejected] == [
        (str(i), b"caf\xe9".hex(), f"row {i}") for i in BAD
    ]
    reason = store.rejected[1][1]
    assert all(part in reason for part in ("'v'", server.table, "id=9", "UTF-8")), reason


def test_such_a_row_stops_the_task_where_it_is_not_tolerated(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, v TEXT, name VARCHAR(20))")
    _fill(server, range(8, 12))
    store = OffsetStore()
    task = server.opened(store, **POLLING)
    with pytest.raises(ConnectError) as stopped:
        batches(task, store)
    task.close()
    assert all(part in str(stopped.value) for part in ("'v'", server.table, "id=9", "UTF-8"))


def test_the_generic_reader_says_which_table_it_cannot_read(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, v TEXT, name VARCHAR(20))")
    _fill(server, range(1, 5))
    store = OffsetStore()
    task = server.opened(store, **POLLING, reader="generic")
    with pytest.raises(ConnectError, match=rf"table public.{server.table} .*invalid byte sequence"):
        batches(task, store)
    task.close()


def test_such_rows_of_the_log_are_dead_letters(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, v TEXT, name VARCHAR(20))")
    _fill(server, range(1, 11))
    with log_run(server, max__batch__size=3) as run:
        run.store.tolerates = True
        run.open()
        run.until_events(7)
        _fill(server, range(11, 22))
        run.until(lambda: any(key["id"] == 21 for _, key, _ in run.events))
        assert [row["id"] for row, _ in run.store.rejected] == [str(i) for i in BAD]
        assert [key["id"] for _, key, _ in run.events] == [i for i in range(1, 22) if i not in BAD]
        assert all(value["after"]["v"] == "café" for _, _, value in run.events)
        reason = run.store.rejected[1][1]
        assert all(part in reason for part in ("'v'", server.table, "id=9")), reason
