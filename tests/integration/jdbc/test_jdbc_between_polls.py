"""Checks that a task that waits for its next poll lets tables be altered and old rows be cleaned up."""

from __future__ import annotations

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_server import Server

MODES = {
    "bulk": {"mode": "bulk"},
    "incrementing": {"mode": "incrementing", "incrementing__column__name": "id"},
    "timestamp": {"mode": "timestamp", "timestamp__column__name": "ts"},
    "both": {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"},
}
SERIES = {"postgres": "generate_series(1, 60) AS s(i)", "mariadb": "(SELECT seq AS i FROM seq_1_to_60) s"}
WAITS = {"postgres": "SET LOCAL lock_timeout = '10s'", "mariadb": "SET lock_wait_timeout = 10"}
OPEN = (
    "SELECT state, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND xact_start IS NOT NULL AND backend_type = 'client backend'"
)


@pytest.mark.parametrize("server", ["postgres", "mariadb"], indirect=True)
@pytest.mark.parametrize("mode", MODES)
def test_a_table_is_altered_while_nobody_polls_and_each_row_comes_once(server: Server, mode: str):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, ts TIMESTAMP NOT NULL DEFAULT '2024-01-01')",
        f"INSERT INTO {{t}} (id) SELECT i FROM {SERIES[server.name]}",
    )
    store = OffsetStore()
    task = server.opened(store, batch__max__rows=10, poll__interval__ms=60_000, **MODES[mode])
    try:
        got = rows(batches(task, store, at_most=1))
        assert 0 < len(got) < 60, "the pass is open"
        server.run(WAITS[server.name], "ALTER TABLE {t} ADD COLUMN more INT")
        if server.name == "postgres":
            with server.engine.connect() as connection:
                assert connection.exec_driver_sql(OPEN).all() == []
        while len(got) < 60:
            got += rows(batches(task, store, at_most=1))
        assert sorted(row["id"] for row in got) == list(range(1, 61))
    finally:
        task.close()
