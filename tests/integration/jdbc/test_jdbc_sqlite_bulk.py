"""Checks what mode=bulk reads from real SQLite files, and where it goes on after a restart at any place."""

from __future__ import annotations

import json
import time

import pytest
from jdbc_drive import OffsetStore, batches, opened, run_sql
from jdbc_sqlite import ids, with_restarts

from connect.lib.deadline import Deadline

ONCE = {"mode": "bulk", "poll__interval__ms": 600_000, "table__whitelist": "t"}


@pytest.mark.parametrize(
    ("create", "key"),
    [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)", [3]),
        ("CREATE TABLE t (id INTEGER, name TEXT)", [3]),
        ("CREATE TABLE t (id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (name, id))", ["row 3", 3]),
        ("CREATE TABLE t (id INTEGER, name TEXT PRIMARY KEY) WITHOUT ROWID", ["row 3"]),
        ("CREATE TABLE t (id INTEGER, name TEXT PRIMARY KEY)", [3]),
        ("CREATE TABLE t (id INTEGER, rowid TEXT, name TEXT)", [3]),
    ],
)
def test_bulk_resumes_behind_the_last_key(tmp_path, create, key):
    path = tmp_path / "keys.db"
    run_sql(path, create, *(f"INSERT INTO t (id, name) VALUES ({i}, 'row {i}')" for i in range(1, 8)))
    store = OffsetStore()
    task = opened(path, store, **ONCE, batch__max__rows=3)
    first = ids(batches(task, store, at_most=1))
    task.close()
    (reached,) = (json.loads(o) for o in store.offsets.values())
    assert (json.loads(reached["bulk_last_key"]), reached["rows"]) == (key, 3)
    assert first + with_restarts(path, store, 1, **ONCE, batch__max__rows=3) == list(range(1, 8))
    (finished,) = (json.loads(o) for o in store.offsets.values())
    assert finished["rows"] == 7


def test_bulk_rests_until_its_interval_is_over_also_after_a_restart(file):
    store = OffsetStore()
    assert with_restarts(file, store, 99, **ONCE) == list(range(1, 61))
    ((key, text),) = store.offsets.items()
    store.offsets[key] = json.dumps(json.loads(text) | {"bulk_pass_finished_ms": int(time.time() * 1000) - 600_001})
    assert with_restarts(file, store, 99, **ONCE) == list(range(1, 61))


def test_bulk_reads_the_table_again_and_again(file):
    store = OffsetStore()
    task = opened(file, store, mode="bulk", table__whitelist="t", poll__interval__ms=1)
    assert ids(batches(task, store, at_most=3)) == list(range(1, 61)) * 3
    task.close()


def test_bulk_of_a_view_begins_again_when_broken_off(file):
    run_sql(file, "CREATE VIEW v AS SELECT id FROM t WHERE id <= 6")
    settings = {**ONCE, "table__whitelist": "v", "table__types": "VIEW", "batch__max__rows": 4}
    store = OffsetStore()
    task = opened(file, store, **settings)
    assert ids(batches(task, store, at_most=1)) == [1, 2, 3, 4]
    task.close()
    assert store.offsets == {}
    assert with_restarts(file, store, 99, **settings) == [1, 2, 3, 4, 5, 6]


def test_rest_of_a_bulk_pass_that_was_deleted_finishes_it(file):
    store = OffsetStore()
    task = opened(file, store, **ONCE, batch__max__rows=30)
    batches(task, store, at_most=1)
    task.close()
    run_sql(file, "DELETE FROM t WHERE id > 30")
    task = opened(file, store, **ONCE, batch__max__rows=30)
    (last,) = batches(task, store)
    task.close()
    assert len(last) == 0
    assert "bulk_pass_finished_ms" in json.loads(next(iter(store.offsets.values())))


def test_tables_take_turns(tmp_path):
    path = tmp_path / "turns.db"
    for name in "abc":
        run_sql(
            path,
            f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)",
            *(f"INSERT INTO {name} VALUES ({i})" for i in range(4)),
        )
    settings = {"mode": "bulk", "table__whitelist": "a,b,c", "poll__interval__ms": 600_000, "batch__max__rows": 2}
    task = opened(path, OffsetStore(), **settings)
    read = batches(task, OffsetStore())
    task.close()
    assert [batch.topic for batch in read] == ["db-a", "db-b", "db-c"] * 2


def test_a_batch_has_no_key_and_the_bare_table_name(file):
    task = opened(file, OffsetStore(), **ONCE)
    (batch,) = batches(task, OffsetStore())
    task.close()
    assert (batch.topic, batch.keys, batch.values.schema.name) == ("db-t", None, "t")
    assert batch.values.is_arrow


def test_poll_keeps_its_deadline_while_a_statement_runs(tmp_path):
    path = tmp_path / "slow.db"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e9) SELECT max(i) AS id FROM n"
    run_sql(path, f"CREATE VIEW v AS {slow}")
    task = opened(path, OffsetStore(), mode="bulk", table__whitelist="v", table__types="VIEW")
    began_s = time.monotonic()
    assert task.poll(Deadline.after(0.2)) is None
    assert time.monotonic() - began_s < 30
    task.close()
    assert time.monotonic() - began_s < 60
