"""Checks what each mode reads from real SQLite files, and where it goes on after a restart at any place."""

from __future__ import annotations

import json
import time

import pytest
from jdbc_drive import OffsetStore, batches, opened, rows, run_sql
from jdbc_sqlite import ids, insert, with_restarts

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connect.lib.deadline import Deadline

FAST = {"poll__interval__ms": 20, "table__whitelist": "t"}
INCREMENTING = {"mode": "incrementing", "incrementing__column__name": "id"}
TIMESTAMP = {"mode": "timestamp", "timestamp__column__name": "ts"}
BOTH = {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"}


@pytest.mark.parametrize("mode", [INCREMENTING, TIMESTAMP, BOTH, {"mode": "bulk", "poll__interval__ms": 600_000}])
@pytest.mark.parametrize("rows_per_batch", [1, 4, 6, 7, 60, 1000])
@pytest.mark.parametrize("index", ["", "CREATE INDEX by_ts ON t (ts)"])
def test_a_restart_after_every_batch_gives_each_row_once(file, mode, rows_per_batch, index):
    run_sql(file, *([index] if index else []))
    settings = {**FAST, **mode, "batch__max__rows": rows_per_batch}
    assert with_restarts(file, OffsetStore(), 1 if rows_per_batch > 1 else 9, **settings) == list(range(1, 61))


@pytest.mark.parametrize("mode", [INCREMENTING, TIMESTAMP, BOTH])
def test_only_what_is_new_is_read_later(file, mode):
    store = OffsetStore()
    task = opened(file, store, **FAST, **mode)
    assert len(ids(batches(task, store))) == 60
    insert(file, (61, "2024-01-01 00:01:00"), (62, "2024-01-01 00:01:00"))
    assert ids(batches(task, store)) == [61, 62]
    task.close()


def test_a_changed_row_is_read_again(file):
    store = OffsetStore()
    task = opened(file, store, **FAST, **BOTH)
    batches(task, store)
    run_sql(file, "UPDATE t SET ts = '2024-01-02 00:00:00', name = 'new' WHERE id = 3")
    assert [(r["id"], r["name"]) for r in rows(batches(task, store))] == [(3, "new")]
    task.close()


def test_rows_of_one_timestamp_that_come_later_are_not_lost_at_an_unfinished_edge(file):
    # Four of the first six rows of 00:00:00 were delivered; a seventh arrives before the restart.
    store = OffsetStore()
    settings = {**FAST, **TIMESTAMP, "batch__max__rows": 4}
    task = opened(file, store, **settings)
    assert ids(batches(task, store, at_most=1)) == [1, 2, 3, 4]
    task.close()
    insert(file, (70, "2024-01-01 00:00:00"))
    task = opened(file, store, **settings)
    assert ids(batches(task, store))[:3] == [5, 6, 70]
    task.close()


def test_the_stored_timestamp_moves_only_when_it_is_finished(file):
    store = OffsetStore()
    task = opened(file, store, **{**FAST, **TIMESTAMP, "batch__max__rows": 8})
    batches(task, store, at_most=1)
    task.close()
    (offset,) = (json.loads(o) for o in store.offsets.values())
    assert offset["timestamp"] == 1704067200000
    assert (offset["tie_timestamp_us"], offset["tie_key"]) == (1704067201000000, "[8]")


def test_confluents_reading_of_our_offset_repeats_rows_and_loses_none(file):
    store = OffsetStore()
    settings = {**FAST, **TIMESTAMP, "batch__max__rows": 8}
    task = opened(file, store, **settings)
    first = ids(batches(task, store, at_most=1))
    task.close()
    ((key, text),) = store.offsets.items()
    store.offsets[key] = json.dumps({m: v for m, v in json.loads(text).items() if not m.startswith("tie_")})
    task = opened(file, store, **settings)
    assert first + ids(batches(task, store)) == [*range(1, 9), *range(7, 61)]
    task.close()


def test_an_offset_of_java_is_gone_on_from(file):
    store = OffsetStore()
    store.offsets['{"table": "t"}'] = '{"timestamp_nanos": 0, "incrementing": 57, "timestamp": 1704067209000}'
    task = opened(file, store, **FAST, **BOTH)
    assert ids(batches(task, store)) == [58, 59, 60]
    task.close()
    assert '{"protocol": "1", "table": "t"}' in store.offsets


def test_rows_deleted_and_inserted_while_reading_do_not_disturb_the_others(file):
    store = OffsetStore()
    task = opened(file, store, **FAST, **INCREMENTING, batch__max__rows=10)
    first = ids(batches(task, store, at_most=2))
    run_sql(file, "DELETE FROM t WHERE id IN (5, 45)")
    insert(file, (61, "2024-01-01 00:02:00"))
    rest = ids(batches(task, store))
    task.close()
    assert first + rest == [i for i in range(1, 62) if i != 45]


def test_rows_younger_than_the_delay_wait(file):
    now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    insert(file, (61, now))
    store = OffsetStore()
    task = opened(file, store, **FAST, **BOTH, timestamp__delay__interval__ms=3_600_000)
    assert ids(batches(task, store)) == list(range(1, 61))
    task.close()
    task = opened(file, store, **FAST, **BOTH, timestamp__delay__interval__ms=0)
    deadline = Deadline.after(60)
    found: list[int] = []
    while not found and deadline.wait(0.05):
        found = ids(batches(task, store))
    assert found == [61]
    task.close()


def test_reading_begins_where_it_is_told(file):
    settings = {**FAST, **TIMESTAMP, "timestamp__initial": 1704067208000}
    task = opened(file, OffsetStore(), **settings)
    assert ids(batches(task, OffsetStore())) == list(range(55, 61))
    task.close()
    task = opened(file, OffsetStore(), **{**settings, "timestamp__initial": -1})
    assert ids(batches(task, OffsetStore())) == []
    task.close()
    task = opened(file, OffsetStore(), **FAST, **INCREMENTING, incrementing__initial=50)
    assert ids(batches(task, OffsetStore())) == list(range(51, 61))
    task.close()


@pytest.mark.parametrize("mode", [TIMESTAMP, BOTH])
def test_a_beginning_of_now_stays_where_it_was_until_there_are_rows(file, mode):
    run_sql(file, "UPDATE t SET ts = ts || '.000'")
    store, settings = OffsetStore(), {**FAST, **mode, "timestamp__initial": -1}
    task = opened(file, store, **settings)
    assert ids(batches(task, store)) == []
    task.close()
    run_sql(file, "INSERT INTO t (id, ts) VALUES (61, strftime('%Y-%m-%d %H:%M:%f', 'now'))")
    task = opened(file, store, **settings)
    found: list[int] = []
    deadline = Deadline.after(60)
    while not found and deadline.wait(0.02):
        found = ids(batches(task, store))
    task.close()
    assert found == [61]


@pytest.mark.parametrize(
    "values",
    [
        ["'2024-01-01T00:00:00Z'", "'2024-01-01T00:00:01Z'", "'2024-01-01T00:00:01Z'", "'2024-01-01T00:00:02Z'"],
        ["'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.5'", "'2024-01-01 00:00:00.500001'", "'2024-01-01 00:00:01'"],
        ["1704067200000", "1704067200001", "1704067200001", "1704067200002"],
        ["'2024-01-01'", "'2024-01-02'", "'2024-01-02'", "'2024-01-03'"],
    ],
)
@pytest.mark.parametrize("mode", [TIMESTAMP, BOTH])
def test_timestamps_of_each_form_resume_exactly(tmp_path, values, mode):
    path = tmp_path / "forms.db"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, ts TIMESTAMP NOT NULL, name TEXT)")
    run_sql(path, *(f"INSERT INTO t VALUES ({i}, {v}, 'x')" for i, v in enumerate(values, 1)))
    settings = {**FAST, **mode, "batch__max__rows": 1, "timestamp__granularity": "micros_long"}
    assert with_restarts(path, OffsetStore(), 1, **settings) == [1, 2, 3, 4]


def test_a_cursor_column_that_mixes_forms_stops_the_task(tmp_path):
    path = tmp_path / "mixed.db"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, ts TIMESTAMP NOT NULL)")
    run_sql(path, "INSERT INTO t VALUES (1, '2024-01-01 12:00:00'), (2, '2024-01-01T10:00:00')")
    task = opened(path, OffsetStore(), **FAST, **BOTH)
    with pytest.raises(SchemaError, match="mixed"):
        batches(task, OffsetStore())
    task.close()


def test_the_first_timestamp_that_is_not_null_counts(tmp_path):
    path = tmp_path / "coalesce.db"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, changed TIMESTAMP, created TIMESTAMP NOT NULL)")
    run_sql(
        path, "INSERT INTO t VALUES (1, NULL, '2024-01-01 00:00:02'), (2, '2024-01-01 00:00:01', '2023-01-01 00:00:00')"
    )
    settings = {**FAST, "mode": "timestamp", "timestamp__column__name": "changed,created", "batch__max__rows": 1}
    assert with_restarts(path, OffsetStore(), 1, **settings) == [2, 1]


def test_a_wall_clock_is_read_in_the_databases_zone(file):
    store = OffsetStore()
    task = opened(file, store, **FAST, **TIMESTAMP, db__timezone="Europe/Berlin")
    read = rows(batches(task, store))
    task.close()
    assert read[0]["ts"].isoformat() == "2023-12-31T23:00:00+00:00"
    assert json.loads(next(iter(store.offsets.values())))["timestamp"] == 1704063609000


def test_an_empty_table_gives_nothing(tmp_path):
    path = tmp_path / "empty.db"
    run_sql(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, ts TIMESTAMP NOT NULL)")
    for mode in (INCREMENTING, TIMESTAMP, BOTH, {"mode": "bulk"}):
        task = opened(path, OffsetStore(), **FAST, **mode)
        assert batches(task, OffsetStore()) == []
        task.close()


def test_a_query_is_read_by_its_columns(file):
    store = OffsetStore()
    query = "SELECT t.id AS id, upper(name) AS loud, ts, id * 1.5 AS price FROM t WHERE name LIKE 'row%:' OR id > 58"
    settings = {"query": query, "mode": "incrementing", "incrementing__column__name": "id", "topic__prefix": "loud"}
    task = opened(file, store, **settings)
    (batch,) = batches(task, store)
    task.close()
    assert (batch.topic, store.offsets) == ("loud", {'{"query": "query"}': '{"incrementing": 60}'})
    assert batch.values.rows()[0]["loud"] == "ROW 59"
    assert batch.values.rows()[0]["price"] == 88.5
    assert batch.values.rows()[0]["ts"].isoformat() == "2024-01-01T00:00:09+00:00"


def test_a_locked_database_is_tried_again_and_loses_nothing(file):
    import sqlite3

    store = OffsetStore()
    task = opened(file, store, **FAST, **INCREMENTING, connection__timeout="0.05")
    lock = sqlite3.connect(file, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    with pytest.raises(RetriableError, match="locked"):
        batches(task, store)
    lock.execute("ROLLBACK")
    lock.close()
    assert ids(batches(task, store)) == list(range(1, 61))
    task.close()


def test_retries_end_when_they_are_limited(file):
    task = opened(file, OffsetStore(), **FAST, **INCREMENTING, query__retry__attempts=1)
    moved = file.rename(file.with_suffix(".gone"))
    task._connections.close()
    with pytest.raises(RetriableError):
        batches(task, OffsetStore())
    with pytest.raises(ConnectError, match=r"query\.retry\.attempts"):
        batches(task, OffsetStore())
    moved.rename(file)
    task.close()


def test_a_dropped_table_is_an_error_with_its_name_and_not_tried_again(file):
    task = opened(file, OffsetStore(), **FAST, **INCREMENTING)
    run_sql(file, "DROP TABLE t")
    with pytest.raises(ConnectError, match="Table t does not exist") as error:
        batches(task, OffsetStore())
    assert not isinstance(error.value, RetriableError)
    task.close()


def test_the_database_is_never_written_and_never_locked_between_polls(file):
    task = opened(file, OffsetStore(), **FAST, **INCREMENTING, batch__max__rows=10)
    batches(task, OffsetStore(), at_most=2)
    insert(file, (100, "2024-01-01 00:00:00"))
    before = file.stat().st_mtime_ns
    batches(task, OffsetStore(), at_most=2)
    task.close()
    assert file.stat().st_mtime_ns == before


def test_a_table_whose_name_no_topic_may_have_stops_no_other(tmp_path):
    path = tmp_path / "odd.db"
    for name in ("plain", "my orders!"):
        run_sql(path, f'CREATE TABLE "{name}" (id INTEGER PRIMARY KEY)', f'INSERT INTO "{name}" VALUES (1)')
    store = OffsetStore()
    task = opened(path, store, **{**FAST, **INCREMENTING, "table__whitelist": "plain,my orders!"})
    assert {batch.topic for batch in batches(task, store)} == {"db-plain", "db-my_orders_"}
    task.close()
