"""A database is chosen by its URL in one place; one that is not known says so before anybody relies on it."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.dialects import registry

from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.jdbc.dialects.known import dialect_of, dialects
from connectors.jdbc.settings.config import JdbcSourceConfig, JdbcTaskConfig
from connectors.jdbc.source.check import check
from connectors.jdbc.source.task import JdbcSourceTask

registry.register("unheard", "sqlalchemy.dialects.sqlite.pysqlite", "SQLiteDialect_pysqlite")


@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("jdbc:postgresql://h/d", "PostgreSQL"), ("postgresql+psycopg://h/d", "PostgreSQL"),
        ("jdbc:mariadb://h/d", "MariaDB"), ("mysql+pymysql://h/d", "MySQL"), ("jdbc:sqlite:a.db", "SQLite"),
        ("duckdb:////a.duckdb", "DuckDB"), ("mssql+pymssql://h/d", "SQL Server"), ("unheard://h/d", ""),
    ],
)  # fmt: skip
def test_the_url_chooses_the_dialect(url: str, title: str) -> None:
    assert dialect_of(url).title == title


def test_every_part_of_every_dialect_can_be_made() -> None:
    for dialect in [*dialects(), dialect_of("unheard://h/d")]:
        for part in (
            "url",
            "sessions",
            "connecting",
            "types",
            "catalog",
            "plans",
            "server",
            "rights",
            "settled",
            "cursors",
        ):
            assert getattr(dialect, part) is not None, (dialect.name, part)
        assert (dialect.log is None) <= (dialect.title not in {"PostgreSQL", "MariaDB", "MySQL"})


def test_a_known_database_needs_no_caution() -> None:
    known = {dialect.name for dialect in dialects() if not dialect.caution}
    assert known == {"postgresql", "mariadb", "mysql", "sqlite"}


def test_a_database_that_is_not_known_says_what_is_not_promised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY)")
    given = {
        "name": "c", "connector.class": "JdbcSourceConnector", "connection.url": f"unheard:///{path}",
        "mode": "bulk", "table.whitelist": "main.rows", "topic.prefix": "t-", "jdbc.sqlalchemy.drivers": "unheard",
        "allowed.paths": str(tmp_path),
    }  # fmt: skip
    [note] = check(JdbcSourceConfig.parse(given), Deadline.after(60))
    assert note.startswith("unheard is read by what SQLAlchemy knows of it")
    assert "longer than settle.time.ms (10000 where it is not set) can be lost" in note
    task = JdbcSourceTask(JdbcTaskConfig.parse({**given, "tables": '"main"."rows"'}))
    try:
        with caplog.at_level(logging.WARNING):
            task.open(FakeSourceContext())
    finally:
        task.close()
    assert note in caplog.text
