"""SQLite's timestamp modes beside writers that are slow to commit: the last version of every row comes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from jdbc_drive import OffsetStore, batches, opened, rows, run_sql

from connect.lib.deadline import Deadline

BOTH = {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"}
TIMESTAMP = {"mode": "timestamp", "timestamp__column__name": "ts"}
PATIENCE_S = 20.0
NOW = {"seconds": "datetime('now')", "milliseconds": "strftime('%Y-%m-%d %H:%M:%f', 'now')"}


@pytest.fixture(params=["delete", "wal"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "t.db"
    run_sql(
        path,
        f"PRAGMA journal_mode={request.param}",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, ts TIMESTAMP NOT NULL, version INT NOT NULL)",
        "INSERT INTO t SELECT value, '2024-01-01 00:00:00', 0 FROM json_each('[1,2,3]')",
    )
    return path


@pytest.fixture
def writer(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None, timeout=PATIENCE_S, check_same_thread=False)) as made:
        yield made


def settings(mode: dict[str, str], **others: object) -> dict[str, object]:
    return {"poll__interval__ms": 20, "table__whitelist": "t", **mode, **others}


def versions(read: list) -> dict[int, int]:
    return {row["id"]: row["version"] for row in rows(read)}


@pytest.mark.parametrize("mode", [BOTH, TIMESTAMP], ids=["both", "timestamp"])
@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_change_of_the_second_of_another_one_comes_however_late_it_is_committed(file, writer, mode, is_restarted):
    store = OffsetStore()
    task = opened(file, store, **settings(mode))
    seen = versions(batches(task, store))
    (second,) = writer.execute("SELECT datetime('now')").fetchone()
    writer.execute("UPDATE t SET ts = ?, version = 1 WHERE id = 3", [second])
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE t SET ts = ?, version = 1 WHERE id = 2", [second])
    deadline = Deadline.after(PATIENCE_S)
    while seen != {1: 0, 2: 0, 3: 1} and writer.execute("SELECT datetime('now', '-2 seconds')").fetchone() < (second,):
        assert not deadline.expired
        seen |= versions(batches(task, store, quiet_s=0.1))
    if is_restarted:
        task.close()
        task = opened(file, store, **settings(mode))
        seen |= versions(batches(task, store))
    writer.execute("COMMIT")
    while seen != {1: 0, 2: 1, 3: 1}:
        assert not deadline.expired, f"lost: {seen}"
        seen |= versions(batches(task, store, quiet_s=0.1))
    task.close()


@pytest.mark.parametrize("now", NOW)
def test_no_version_is_the_last_one_seen_but_the_last_one_there(file, writer, now):
    ended = threading.Event()

    def write() -> None:
        # One after the other without a rest, so that a look nearly always finds one.
        number = 0
        while not ended.is_set():
            number += 1
            writer.execute("BEGIN IMMEDIATE")
            for id_ in (3, 1, 2):
                writer.execute(f"UPDATE t SET ts = {NOW[now]}, version = ? WHERE id = ?", [number, id_])
                ended.wait(0.002)
            writer.execute("COMMIT")
            written.append(number)

    def is_enough() -> bool:
        # A row that is written all the time is never older than its second, but for a moment at the second's end:
        # whether a poll falls into it is chance, and a busy machine's polls seldom do.
        return len(written) >= 200 if now == "seconds" else min(seen.values(), default=0) >= 60

    written: list[int] = []
    store = OffsetStore()
    task = opened(file, store, **settings(BOTH, poll__interval__ms=1))
    thread = threading.Thread(target=write)
    thread.start()
    deadline = Deadline.after(PATIENCE_S)
    seen: dict[int, int] = {}
    try:
        while not is_enough():
            assert not deadline.expired, f"held back: {seen}"
            seen |= versions(batches(task, store, at_most=1))
    finally:
        ended.set()
        thread.join(PATIENCE_S)
    deadline = Deadline.after(PATIENCE_S)
    wanted = dict(writer.execute("SELECT id, version FROM t").fetchall())
    while seen != wanted:
        assert not deadline.expired, f"lost: {seen}, {wanted} is there"
        seen |= versions(batches(task, store, at_most=1))
    task.close()


def test_rows_younger_than_the_settle_time_wait(file, writer):
    store = OffsetStore()
    task = opened(file, store, **settings(BOTH, settle__time__ms=3_600_000))
    batches(task, store)
    writer.execute("UPDATE t SET ts = datetime('now', '-10 seconds'), version = 1 WHERE id = 1")
    writer.execute("UPDATE t SET ts = datetime('now', '-2 hours'), version = 1 WHERE id = 2")
    assert versions(batches(task, store)) == {2: 1}
    task.close()
