"""Writes and reads the table `t` (id, ts, name) of a SQLite file."""

from __future__ import annotations

from pathlib import Path

from jdbc_drive import OffsetStore, batches, opened, rows, run_sql


def insert(path: Path, *values: tuple[int, str]) -> None:
    run_sql(path, *(f"INSERT INTO t VALUES ({i}, '{ts}', 'row {i}')" for i, ts in values))


def ids(read: list) -> list[int]:
    return [row["id"] for row in rows(read)]


def with_restarts(file: Path, store: OffsetStore, every: int, **settings: object) -> list[int]:
    """Read with a new task after every few batches, until a task finds nothing, and return the ids that came."""
    result: list[int] = []
    while True:
        task = opened(file, store, **settings)
        read = batches(task, store, at_most=every)
        task.close()
        if not read:
            return result
        result += ids(read)
