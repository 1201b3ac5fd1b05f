"""Checks that rows come which appear behind rows that were delivered already: late commits, changes meanwhile, coarse
timestamps.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from jdbc_server import Server
from test_jdbc_stress import COLUMNS, MODES

from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settled import snapshots
from connectors.jdbc.source.task import JdbcSourceTask

INSERT = "INSERT INTO {t} (ts, version) VALUES (CURRENT_TIMESTAMP(6), 1)"


def until(task: JdbcSourceTask, store: OffsetStore, count: int) -> list[dict[str, Any]]:
    """So many rows."""
    deadline, read = Deadline.after(60), []
    while len(read) < count:
        assert deadline.wait(0.02), f"only {read} came"
        read += rows(batches(task, store))
    return read


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
@pytest.mark.parametrize("mode", MODES)
def test_a_row_committed_between_the_halves_of_a_broken_pass_comes(server: Server, mode: str):
    server.run(f"CREATE TABLE {{t}} ({COLUMNS[server.name]})", "CREATE INDEX {t}_ts ON {t} (ts, id)")
    store = OffsetStore()
    settings = {**MODES[mode], "batch__max__rows": 2, "timestamp__granularity": "micros_long"}
    task = server.opened(store, **settings)
    with server.engine.begin() as late:
        late.exec_driver_sql(INSERT.format(t=server.table))
        server.run(*[INSERT] * 5)
        read = rows(batches(task, store, at_most=1))
        task.close()
    task = server.opened(store, **settings)
    read += until(task, store, 6 - len(read))
    task.close()
    assert sorted(row["id"] for row in read) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", MODES)
def test_a_row_of_the_very_instant_of_the_horizon_comes(server: Server, mode: str):
    server.run(f"CREATE TABLE {{t}} ({COLUMNS[server.name]})", "CREATE INDEX {t}_ts ON {t} (ts, id)")
    store = OffsetStore()
    task = server.opened(store, **MODES[mode], timestamp__granularity="micros_long")
    with server.engine.begin() as late:
        late.exec_driver_sql(INSERT.format(t=server.table))
        server.run(INSERT)
        read = rows(batches(task, store))
        server.run(INSERT)
        read += rows(batches(task, store))
    read += until(task, store, 3 - len(read))
    task.close()
    assert sorted(row["id"] for row in read) == [1, 2, 3]


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
@pytest.mark.parametrize("mode", ["timestamp", "both"])
def test_rows_of_a_day_that_was_read_come(server: Server, mode: str):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, ts DATE NOT NULL)", "CREATE INDEX {t}_ts ON {t} (ts, id)")
    server.run("INSERT INTO {t} VALUES (2, CURRENT_DATE)")
    store = OffsetStore()
    task = server.opened(store, **MODES[mode])
    read = until(task, store, 1)
    server.run("INSERT INTO {t} VALUES (1, CURRENT_DATE), (3, CURRENT_DATE)")
    read += until(task, store, 2)
    task.close()
    task = server.opened(store, **MODES[mode])
    server.run("INSERT INTO {t} VALUES (0, CURRENT_DATE)")
    read += until(task, store, 1)
    task.close()
    assert [row["id"] for row in read] == [2, 1, 3, 0]


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
@pytest.mark.parametrize("reader", ["auto", "generic"])
def test_rows_of_a_date_come_when_the_day_is_over(server: Server, reader: str):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, ts DATE NOT NULL)", "CREATE INDEX {t}_ts ON {t} (ts)")
    server.run("INSERT INTO {t} VALUES (1, UTC_DATE() - INTERVAL 1 DAY), (2, UTC_DATE() + INTERVAL 1 DAY)")
    store = OffsetStore()
    task = server.opened(store, **MODES["timestamp"], reader=reader)
    read = until(task, store, 1)
    server.run("INSERT INTO {t} VALUES (3, UTC_DATE() + INTERVAL 1 DAY)")
    read += rows(batches(task, store))
    task.close()
    assert [row["id"] for row in read] == [1]


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_transaction_is_seen_although_others_look_all_the_time(server: Server):
    """InnoDB's own list of transactions is not renewed as long as somebody reads it ten times a second."""
    server.run(f"CREATE TABLE {{t}} ({COLUMNS['mariadb']})", "CREATE INDEX {t}_ts ON {t} (ts, id)")
    server.run(INSERT)
    ended = threading.Event()

    def look() -> None:
        with server.engine.connect() as connection:
            while not ended.wait(0.02):
                connection.exec_driver_sql("SELECT COUNT(*) FROM information_schema.innodb_trx").scalar()

    looking = threading.Thread(target=look)
    looking.start()
    store = OffsetStore()
    task = server.opened(store, **MODES["both"], timestamp__granularity="micros_long")
    try:
        read = until(task, store, 1)
        with server.engine.begin() as late:
            late.exec_driver_sql(INSERT.format(t=server.table))
            server.run(INSERT)
            read += rows(batches(task, store, quiet_s=1.5))
        read += until(task, store, 3 - len(read))
    finally:
        ended.set()
        looking.join()
        task.close()
    assert [row["id"] for row in read] == [1, 2, 3]


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
@pytest.mark.parametrize("reader", ["auto", "adbc", "generic", "unexported"])
@pytest.mark.parametrize("mode", MODES)
def test_a_row_replaced_just_before_the_rows_are_read_comes(
    server: Server, mode: str, reader: str, monkeypatch: pytest.MonkeyPatch
):
    if reader == "adbc":
        monkeypatch.setattr("connectors.jdbc.dialects.postgres.reader.libpq_module", lambda: None)
    if reader == "unexported":
        monkeypatch.setattr("connectors.jdbc.dialects.postgres.reader._EXPORT", sa.text("SELECT 1/0"))
    server.run(
        f"CREATE TABLE {{t}} ({COLUMNS[server.name]})",
        "INSERT INTO {t} (ts, version) SELECT now() - interval '1 minute' + g * interval '1 second', 1 "
        "FROM generate_series(1, 9) g",
    )
    replaced: list[str] = []
    asks = {name: getattr(snapshots, name) for name in ("take", "pin")}

    def asked(name: str, database: Database) -> object:
        answer = asks[name](database)
        if len(replaced) < 8:
            # The timestamp stays: only the place in the table and the transaction are others.
            server.run("UPDATE {t} SET version = version + 1 WHERE id IN (3, 9)")
            replaced.append(name)
        return answer

    for name in asks:
        monkeypatch.setattr(snapshots, name, partial(asked, name))
    store = OffsetStore()
    task = server.opened(
        store, **MODES[mode], reader="generic" if reader == "generic" else "auto", timestamp__granularity="micros_long"
    )
    read: list[dict[str, Any]] = []
    deadline = Deadline.after(60)
    while len(replaced) < 8 or {row["id"] for row in read} != set(range(1, 10)):
        assert deadline.wait(0.02), f"only {sorted(row['id'] for row in read)} came"
        batch = task.poll(Deadline.after(0.05))
        if batch is not None:
            store.store(batch)
            read += rows([batch])
    task.close()
    versions = [(row["id"], row["version"]) for row in read]
    assert len(versions) == len(set(versions))
