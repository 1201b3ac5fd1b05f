"""Checks SQLite's settled time: it lies behind the beginning of whoever is writing, and no further back than that."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.dialects.sqlite import writers as sqlite_writers
from connectors.jdbc.dialects.sqlite.settled import SqliteSettledTime
from connectors.jdbc.dialects.sqlite.writers import is_writing
from connectors.jdbc.settings.config import JdbcSourceConfig

HOUR_US = 3_600_000_000


@pytest.fixture(params=["delete", "truncate", "persist", "memory", "wal"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "t.db"
    with closing(_connected(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={request.param}")
        connection.execute("CREATE TABLE t (id INTEGER)")
    return path


@pytest.fixture
def writer(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(_connected(file)) as connection:
        yield connection


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    properties = {"connection.url": f"jdbc:sqlite:{file}", "mode": "bulk", "topic.prefix": "x", "query": "SELECT 1"}
    opened = Database(JdbcSourceConfig.parse({**properties, **EVERYWHERE}))
    yield opened
    opened.close()


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def test_a_writer_is_seen_from_its_first_write_to_its_commit_and_keeps_its_lock(file, writer):
    for _ in range(2):
        writer.execute("BEGIN")
        writer.execute("SELECT * FROM t").fetchall()
        assert not is_writing(file), "it reads"
        writer.execute("INSERT INTO t VALUES (1)")
        assert is_writing(file)
        assert is_writing(file), "to look a second time ends no lock of this process"
        writer.execute("COMMIT")
        assert not is_writing(file)


def test_files_that_are_made_anew_are_looked_at(file):
    for _ in range(2):
        # The files of a write-ahead log go with the last connection.
        with closing(_connected(file)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            assert is_writing(file)
            writer.execute("ROLLBACK")
            assert not is_writing(file)


def test_the_settled_time_stays_before_an_open_writer_and_follows_writers_that_end(writer, database):
    settled_time = SqliteSettledTime(0, HOUR_US)
    free = settled_time.observe(database)
    assert free.settled_us == free.now_us
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO t VALUES (1)")
    first = settled_time.observe(database)
    second = settled_time.observe(database)
    assert first.settled_us == second.settled_us == free.settled_us
    writer.execute("COMMIT")
    writer.execute("BEGIN IMMEDIATE")
    third = settled_time.observe(database)
    assert third.settled_us == second.now_us, "another one is writing, who began behind the last look"
    writer.execute("ROLLBACK")
    last = settled_time.observe(database)
    assert last.settled_us == last.now_us


def test_who_was_writing_before_the_first_look_may_have_begun_long_ago(writer, database):
    writer.execute("BEGIN IMMEDIATE")
    seen = SqliteSettledTime(0, HOUR_US).observe(database)
    assert seen.settled_us == seen.now_us - HOUR_US
    writer.execute("ROLLBACK")


def test_the_settle_time_is_left_out_of_what_is_settled(database):
    seen = SqliteSettledTime(7, HOUR_US).observe(database)
    assert seen.now_us - seen.settled_us == 7


def test_a_system_that_tells_of_no_locks_gets_a_settle_time_and_a_warning(database, monkeypatch, caplog):
    monkeypatch.setattr(sqlite_writers, "_ASK", None)
    settled_time = SqliteSettledTime(0, HOUR_US)
    for _ in range(2):
        seen = settled_time.observe(database)
        assert seen.now_us - seen.settled_us == 10_000_000
    assert caplog.text.count("cannot be seen") == 1
