"""A reader of PostgreSQL has two sessions. Neither waits behind an ALTER TABLE that waits for the other one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from jdbc_server import Server

from connect.api.allowed_paths import EVERYWHERE
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.dialects.postgres.copy import PostgresCopy
from connectors.jdbc.settings.config import JdbcSourceConfig

pytestmark = pytest.mark.parametrize("server", ["postgres"], indirect=True)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER%%{t}%%'"
MODES = {
    "incrementing": {"mode": "incrementing", "incrementing__column__name": "id"},
    "both": {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"},
}


def unlimited(server: Server) -> str:
    """The URL with a limit longer than the test may take: who waits for a lock waits in vain."""
    end = server.endpoint
    return f"jdbc:postgresql://{end.host}:{end.port}/{end.database}?options={quote('-c lock_timeout=600000')}"


@pytest.mark.parametrize("mode", MODES)
def test_a_read_is_not_held_up_by_an_alter_table_that_came_since_its_columns_were_looked_at(
    server: Server, mode: str, monkeypatch: pytest.MonkeyPatch
):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, ts TIMESTAMP NOT NULL DEFAULT '2024-01-01')",
        "INSERT INTO {t} (id) SELECT i FROM generate_series(1, 5) AS s(i)",
    )
    begin_to_read = PostgresCopy.pages
    altered = []

    def alter_and_read(*args, **given):
        if not altered:
            altered.append(others.submit(server.run, "ALTER TABLE {t} ADD COLUMN more INT"))
            with server.engine.connect() as looking:
                while not looking.exec_driver_sql(WAITING.format(t=server.table)).scalar():
                    assert deadline.wait(0.02)
                    looking.rollback()
        return begin_to_read(*args, **given)

    monkeypatch.setattr(PostgresCopy, "pages", alter_and_read)
    store, deadline = OffsetStore(), Deadline.after(60)
    task = server.opened(store, connection__url=unlimited(server), **MODES[mode])
    with ThreadPoolExecutor(1) as others:
        try:
            got = rows(batches(task, store, at_most=1))
            assert sorted(row["id"] for row in got) == [1, 2, 3, 4, 5]
            while not altered[0].done():
                assert deadline.wait(0.02)
                task.poll(Deadline.after(0.05))
            altered[0].result()
        finally:
            task.close()


@pytest.mark.parametrize(("url", "limit"), [("{plain}", "5s"), ("{plain}?options=-c%20lock_timeout%3D1234", "1234ms")])
def test_a_lock_is_waited_for_as_long_as_the_user_says(server: Server, url: str, limit: str):
    end = server.endpoint
    plain = f"jdbc:postgresql://{end.host}:{end.port}/{end.database}"
    given = {
        "connection.url": url.format(plain=plain), "connection.user": end.user, "connection.password": end.password,
        "mode": "bulk", "topic.prefix": "db-", "table.whitelist": server.table,
    }  # fmt: skip
    database = Database(JdbcSourceConfig.parse({**given, **EVERYWHERE}))
    try:
        assert database.scalar(sa.text("SHOW lock_timeout"), "asking") == limit
    finally:
        database.close()
