"""Checks how many rows a source is behind: counted by its index, up to a limit, and said only where it is known."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore
from jdbc_server import Server
from sqlalchemy.dialects import mysql, postgresql

from connect.lib.deadline import Deadline
from connectors.jdbc.follow import unread_rows
from connectors.jdbc.follow.unread_rows import counted
from connectors.jdbc.source.task import JdbcSourceTask

BY_ID = {"mode": "incrementing", "incrementing__column__name": "id", "batch__max__rows": 1000}
BY_TIME = {"mode": "timestamp", "timestamp__column__name": "at", "batch__max__rows": 1000}
LAG = "source_lag_rows"


def fill(server: Server, columns: str, rows: int = 5000) -> None:
    server.run(f"CREATE TABLE {{t}} ({columns})")
    add(server, 1, rows)


def add(server: Server, first: int, last: int) -> None:
    values = ", ".join(
        f"({i}, '2024-01-01 {i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}')" for i in range(first, last + 1)
    )
    server.run(f"INSERT INTO {{t}} (id, at) VALUES {values}")


def lag_after_each(task: JdbcSourceTask, store: OffsetStore, rows: int) -> list[float | None]:
    """Return the lag in rows that the task tells after each batch, until `rows` rows came. Each batch is stored."""
    told, deadline = [], Deadline.after(60)
    while rows > 0:
        batch = task.poll(Deadline.after(0.2))
        assert not deadline.expired
        if batch is None or not len(batch):
            continue
        rows -= len(batch)
        assert batch.position is not None
        store.store(batch)
        task.stored([batch.position])
        told.append(store.gauges.get(LAG))
    return told


@pytest.mark.parametrize("settings", [BY_ID, BY_TIME], ids=["incrementing", "timestamp"])
@pytest.mark.parametrize("offset_mode", ["confluent", "safe"])
def test_the_rows_that_are_left_are_counted_while_a_pass_goes_on(server: Server, settings, offset_mode: str):
    fill(server, "id BIGINT PRIMARY KEY, at TIMESTAMP(0) NOT NULL")
    server.run("CREATE INDEX {t}_at ON {t} (at, id)")
    store = OffsetStore()
    task = server.opened(store, **settings, offset__mode=offset_mode)
    try:
        assert LAG not in store.gauges, "nobody has looked yet"
        assert lag_after_each(task, store, 5000) == [4000, 3000, 2000, 1000, 0]
        add(server, 5001, 5003)
        assert lag_after_each(task, store, 3) == [0], "a drained table"
    finally:
        task.close()


def test_rows_that_are_read_and_not_stored_are_lag(server: Server):
    fill(server, "id BIGINT PRIMARY KEY, at TIMESTAMP(0) NOT NULL", rows=10)
    store = OffsetStore()
    task = server.opened(store, **BY_ID, offset__mode="confluent")
    try:
        deadline = Deadline.after(30)
        while (batch := task.poll(deadline)) is None:  # it returns early so that others are served
            assert not deadline.expired
        assert store.gauges[LAG] == 10
        task.stored([batch.position])
        assert store.gauges[LAG] == 0
    finally:
        task.close()


def test_a_count_ends_at_its_limit(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unread_rows, "MOST_ROWS", 1500)
    fill(server, "id BIGINT PRIMARY KEY, at TIMESTAMP(0) NOT NULL")
    store = OffsetStore()
    task = server.opened(store, **BY_ID, offset__mode="confluent")
    try:
        assert lag_after_each(task, store, 5000) == [500, 1, 1, 1, 0], "so many at least, whatever there is"
    finally:
        task.close()


def test_a_table_that_no_index_orders_is_not_counted(server: Server):
    fill(server, "id BIGINT NOT NULL, at TIMESTAMP(0) NOT NULL")
    store = OffsetStore()
    task = server.opened(store, **BY_ID, offset__mode="confluent")
    try:
        assert lag_after_each(task, store, 5000) == [None, None, None, None, 0]
    finally:
        task.close()


def test_the_question_goes_by_the_index_and_stops_at_the_limit(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unread_rows, "MOST_ROWS", 100)
    fill(server, "id BIGINT PRIMARY KEY, at TIMESTAMP(0) NOT NULL", rows=20_000)
    server.run("ANALYZE {t}" if server.name == "postgres" else "ANALYZE TABLE {t}")
    table = sa.table(server.table, sa.column("id"), sa.column("at"))
    rest = sa.select(table).where(table.c.id > 10).order_by(table.c.id)
    dialect = postgresql.dialect() if server.name == "postgres" else mysql.dialect()
    question = str(counted(rest).compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    verb = "EXPLAIN (ANALYZE, TIMING OFF)" if server.name == "postgres" else "ANALYZE FORMAT=JSON"
    with server.engine.connect() as connection:
        plan = "\n".join(str(row[0]) for row in connection.exec_driver_sql(f"{verb} {question}"))
    if server.name == "postgres":
        assert "Index" in plan
        assert "rows=100 " in plan
        assert "Seq Scan" not in plan
    else:
        assert '"key": "PRIMARY"' in plan
        assert '"r_rows": 100,' in plan
