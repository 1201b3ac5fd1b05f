"""Checks max.rows.per.second and statement.timeout.ms: what a source may cost its database."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from connect.api.allowed_paths import EVERYWHERE
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector


class Context:
    connector, task, transactions = "c", 0, None

    def stored_offset(self, partition: object) -> None: ...

    def stored_positions(self) -> tuple[()]:
        return ()

    def gauge(self, name: str, value: float | None) -> None: ...

    def caught_up(self, at_s: float, *, behind: bool = False) -> None: ...

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None: ...

    def note(self, notes: list[str]) -> None: ...


def test_a_task_reads_no_more_rows_per_second_than_it_may(tmp_path: Path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        connection.execute(sa.text("INSERT INTO t VALUES (:i)"), [{"i": i} for i in range(60)])
    given = {
        "connection.url": f"jdbc:sqlite:{tmp_path / 'a.db'}",
        "mode": "bulk",
        "table.whitelist": "t",
        "topic.prefix": "p-",
        "batch.max.rows": "20",
        "max.rows.per.second": "100",
        "poll.interval.ms": "60000",
    }
    connector = JdbcSourceConnector(JdbcSourceConfig.parse({**given, **EVERYWHERE}))
    task = connector.task({**connector.task_configs(1)[0], **EVERYWHERE})
    task.open(Context())
    began_s, read, waits = time.monotonic(), 0, 0
    while read < 60:
        batch = task.poll(Deadline.after(0.05))
        waits += batch is None
        read += 0 if batch is None else len(batch)
    task.close()
    # Two pauses of 0.2 s, in which polls keep their deadline.
    assert time.monotonic() - began_s >= 0.4
    assert waits >= 4


@pytest.mark.parametrize(
    ("url", "statement"),
    [
        ("jdbc:postgresql://h/d", "SET statement_timeout=1500"),
        ("jdbc:mariadb://h/d", "max_statement_time=1.5"),
        ("jdbc:mysql://h/d", "max_execution_time=1500"),
    ],
)
def test_a_statement_timeout_is_the_sessions(url: str, statement: str):
    given = {"connection.url": url, "mode": "bulk", "table.whitelist": "t", "topic.prefix": "p-"}
    assert statement not in " ".join(Database(JdbcSourceConfig.parse({**given, **EVERYWHERE})).session)
    limited = Database(JdbcSourceConfig.parse({**EVERYWHERE, **given, "statement.timeout.ms": "1500"}))
    assert statement in " ".join(limited.session)
