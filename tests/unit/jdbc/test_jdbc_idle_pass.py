"""A pass whose next page nobody asks for gives its transaction back, and goes on later without a row twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source import task as task_module
from connectors.jdbc.source.connector import JdbcSourceConnector


def test_a_writer_gets_its_lock_while_a_pass_waits_for_polls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(task_module, "LEAVE_S", 0.05)
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        # Without an index on them, rows come from one statement that holds the file's lock.
        connection.execute("CREATE TABLE t (id INTEGER, name TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, 'x')", [(i,) for i in range(1, 5001)])
    given = {
        "connection.url": f"jdbc:sqlite:{path}", "mode": "incrementing", "incrementing.column.name": "id",
        "table.whitelist": "t", "topic.prefix": "p-", "batch.max.rows": "1000", "validate.non.null": "false",
    }  # fmt: skip
    planned = JdbcSourceConnector(JdbcSourceConfig.parse({**given, **EVERYWHERE}))
    (config,) = planned.task_configs(1)
    task, context = planned.task({**config, **EVERYWHERE}), FakeSourceContext()
    task.open(context)
    try:
        first = task.poll(Deadline.after(60))
        assert first is not None
        ids = [row["id"] for row in first.values.rows()]
        with closing(sqlite3.connect(path, timeout=10)) as writer:
            writer.execute("BEGIN EXCLUSIVE")
            writer.execute("INSERT INTO t VALUES (5001, 'new')")
            writer.commit()
        deadline = Deadline.after(60)
        while len(ids) < 5001 and not deadline.expired:
            batch = task.poll(Deadline.after(1))
            ids += [] if batch is None else [row["id"] for row in batch.values.rows()]
        assert ids == list(range(1, 5002))
    finally:
        task.close()
