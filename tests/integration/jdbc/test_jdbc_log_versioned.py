"""Reads MariaDB's tables WITH SYSTEM VERSIONING: mode=log tells them as they show themselves, and polls read present
rows.
"""

from __future__ import annotations

from typing import Any

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_server import Server

pytestmark = pytest.mark.parametrize("server", ["mariadb"], indirect=True)


@pytest.mark.parametrize("metadata", ["NO_LOG", "FULL"])
def test_the_log_of_a_versioned_table_is_that_of_its_present_rows(server: Server, metadata: str) -> None:
    (kept,) = [row[1] for row in _asked(server, "SHOW GLOBAL VARIABLES LIKE 'binlog_row_metadata'")]
    server.run(
        f"SET GLOBAL binlog_row_metadata = {metadata}",
        "CREATE TABLE {t} (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING",
        "INSERT INTO {t} (id, n) VALUES (1, 1), (2, 2), (9, 9)",
        "UPDATE {t} SET n = 99 WHERE id = 9",
    )
    try:
        with log_run(server) as run:
            run.open()
            run.until(lambda: len(run.events) == 3)
            server.run(
                "UPDATE {t} SET n = 10 WHERE id = 1",
                "UPDATE {t} SET id = 3 WHERE id = 1",
                "REPLACE INTO {t} (id, n) VALUES (2, 22)",
                "INSERT INTO {t} (id, n) VALUES (2, 0) ON DUPLICATE KEY UPDATE n = 23",
                "DELETE FROM {t} WHERE id = 3",
                "DELETE HISTORY FROM {t}",
                "INSERT INTO {t} (id, n) VALUES (5, 5)",
            )
            told = [(key["id"], value and value["op"]) for _, key, value in run.until_events(14)[3:]]
            assert told == [
                (1, "u"), (1, "d"), (1, None), (3, "c"), (2, "d"), (2, None), (2, "c"), (2, "u"), (3, "d"), (3, None),
                (5, "c"),
            ]  # fmt: skip
            run.close()
            server.run(
                "SET STATEMENT system_versioning_alter_history = KEEP FOR ALTER TABLE {t} ADD more INT",
                "UPDATE {t} SET more = 5 WHERE id = 2",
                "ALTER TABLE {t} DROP SYSTEM VERSIONING",
                "UPDATE {t} SET more = 6 WHERE id = 9",
                "DELETE FROM {t} WHERE id = 2",
            )
            run.open()
            run.until(lambda: run.events[-1][2] is None and run.events[-1][1]["id"] == 2)
            assert all(key.keys() == {"id"} for _, key, _ in run.events)
            assert _in_order(run.rebuilt(run.topic())) == [(5, 5, None), (9, 99, 6)]
    finally:
        server.run(f"SET GLOBAL binlog_row_metadata = {kept}")


def test_polls_read_the_present_rows_of_a_versioned_table(server: Server) -> None:
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, n INT, ts TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
        " ON UPDATE CURRENT_TIMESTAMP(6)) WITH SYSTEM VERSIONING",
        "INSERT INTO {t} (id, n) VALUES (1, 1), (2, 2), (3, 3)",
        "UPDATE {t} SET n = 10 WHERE id = 1",
        "DELETE FROM {t} WHERE id = 2",
    )
    store = OffsetStore()
    task = server.opened(
        store, mode="timestamp+incrementing", timestamp__column__name="ts", incrementing__column__name="id"
    )
    found = {row["id"]: row["n"] for row in rows(batches(task, store, at_most=1))}
    server.run("UPDATE {t} SET n = 11 WHERE id = 1")
    later = [(row["id"], row["n"]) for row in rows(batches(task, store, at_most=1))]
    task.close()
    assert found == {1: 10, 3: 3}
    assert later == [(1, 11)]


def _in_order(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return sorted((row["id"], row["n"], row.get("more")) for row in found.values())


def _asked(server: Server, statement: str) -> list[tuple[object, ...]]:
    with server.engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement)]
