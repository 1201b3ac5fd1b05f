"""Checks the first read of a SQLite table in ranges: begun, broken off, taken up by other tasks, handed over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from jdbc_drive import OffsetStore, batches, connector, rows, run_sql

from connect.api.allowed_paths import EVERYWHERE
from connectors.jdbc.follow import first_read, offsets
from connectors.jdbc.settings.table_choice import TableName

BY_ID = {"mode": "incrementing", "incrementing__column__name": "id", "table__whitelist": "t"}
SHARED = {**BY_ID, "initial__read__parallelism": 4, "batch__max__rows": 50, "poll__interval__ms": 20}
TABLE = offsets.table_partition(TableName(None, "t"))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(first_read, "LEAST_KEYS", 100)
    path = tmp_path / "a.db"
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY)", f"INSERT INTO t {numbers}")
    return path


def ids(path: Path, store: OffsetStore, config: Mapping[str, str], at_most: int = 10_000) -> list[int]:
    """What a task of this configuration reads before it is quiet or killed."""
    planned = connector(path, **SHARED)
    task = planned.task({**config, **EVERYWHERE})
    task.open(store)
    try:
        return [row["id"] for row in rows(batches(task, store, at_most))]
    finally:
        task.close()


def test_tasks_that_come_and_go_read_each_row_once_and_then_the_new_ones(path: Path):
    owner, *helpers = connector(path, **SHARED).task_configs(3)
    store, came = OffsetStore(), []
    assert ids(path, store, helpers[0]) == []  # nothing is begun
    came += ids(path, store, owner, at_most=3)
    run_sql(path, "INSERT INTO t VALUES (1001)")
    for helper in (*helpers, *helpers):
        came += ids(path, store, helper, at_most=2)
    assert offsets.initial_read_of(store.stored_offset(TABLE))
    assert 1001 not in came
    for config in (*helpers, owner):
        came += ids(path, store, config)
    assert sorted(came) == list(range(1, 1002))
    assert store.stored_offset(TABLE) == {"incrementing": 1001}
    run_sql(path, "INSERT INTO t VALUES (1002)")
    assert [ids(path, store, config) for config in (*helpers, owner)] == [[], [], [1002]]


def test_one_task_goes_on_alone_when_the_others_are_taken_away(path: Path):
    owner, *helpers = connector(path, **SHARED).task_configs(3)
    store = OffsetStore()
    came = ids(path, store, owner, at_most=2) + ids(path, store, helpers[1], at_most=1)
    (alone,) = connector(path, **BY_ID).task_configs(3)
    assert "first.reads" not in alone
    came += ids(path, store, alone)
    assert sorted(came) == list(range(1, 1001))
    assert store.stored_offset(TABLE) == {"incrementing": 1000}


def test_a_table_that_was_followed_before_is_not_read_again(path: Path):
    store = OffsetStore()
    store.offsets['{"protocol": "1", "table": "t"}'] = '{"incrementing": 990}'
    owner, *helpers = connector(path, **SHARED).task_configs(3)
    assert [ids(path, store, config) for config in (owner, *helpers)] == [list(range(991, 1001)), [], []]


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE u (id INTEGER NOT NULL, a TEXT PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE u (id INTEGER PRIMARY KEY)",
    ],
)
def test_a_table_that_cannot_be_cut_or_is_small_is_read_in_one(path: Path, table: str):
    run_sql(path, table, f"INSERT INTO u VALUES (7{', 1' * ('TEXT' in table)})")
    store = OffsetStore()
    planned = connector(path, **{**SHARED, "table__whitelist": "u", "validate__non__null": "false"})
    read = []
    for config in planned.task_configs(2):
        task = planned.task({**config, **EVERYWHERE})
        task.open(store)
        read.append([row["id"] for row in rows(batches(task, store))])
        task.close()
    assert read == [[7], []]
    assert list(store.offsets) == ['{"protocol": "1", "table": "u"}']
