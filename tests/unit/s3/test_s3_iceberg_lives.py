"""Checks that each row is in an Iceberg table once, whatever happens to tasks and to the commits of their snapshots."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest
from iceberg_lake import Commits, Lake, Run, rows, soon, values

from connect.api import schema as s
from connect.api.errors import ConnectError, RejectedRowsError, RetriableError
from connect.api.records import TopicPartition
from connectors.s3.iceberg.progress import OFFSETS

pytestmark = pytest.mark.thorough


def check(lake: Lake, commits: Commits, seed: int, row_count: int) -> None:
    run = Run(lake, commits, seed, row_count)
    while min(run.committed) < row_count and run.chance.random() < 0.85:
        run.live()
    run.finish()
    run.check()


@pytest.mark.parametrize("seed", range(5))
def test_each_row_is_in_the_table_once_whatever_happens(lake, commits, seed):
    check(lake, commits, seed, 200)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(50))
def test_each_of_more_rows_is_in_the_table_once_whatever_happens(lake, commits, seed):
    lake.settings = {} if seed % 2 else {"iceberg_partition_by": "bucket(n, 4), p"}
    check(lake, commits, 1000 + seed, 2000)


def test_an_owner_frozen_in_its_commit_adds_nothing_once_another_has_written(lake, commits):
    old, new = lake.task(), lake.task()
    old.put(rows(0, 0, 100), soon())
    commits.faults = ["meanwhile"]

    def overtake() -> None:
        new.put(rows(0, 0, 60), soon())
        assert lake.flush(new) == {TopicPartition("orders", 0): 60}

    commits.meanwhile = overtake
    assert lake.flush(old) == {TopicPartition("orders", 0): 100}
    assert lake.numbers() == [(0, n) for n in range(100)]
    new.put(rows(0, 60, 90), soon())
    assert lake.flush(new) == {TopicPartition("orders", 0): 90}
    assert lake.numbers() == [(0, n) for n in range(100)]


def test_a_commit_that_sqlite_refused_is_not_taken_for_one_that_is_there(lake):
    task = lake.task()
    task.put(rows(0, 0, 10), soon())
    assert lake.flush(task) == {TopicPartition("orders", 0): 10}
    task.put(rows(0, 10, 20), soon())
    # A reader that is frozen in its statement: UPDATE is taken, COMMIT is not.
    with closing(sqlite3.connect(lake.folder / "catalog.db")) as reader:
        frozen = reader.execute("SELECT * FROM iceberg_tables, (VALUES (1), (2), (3))")
        assert frozen.fetchone() is not None
        with pytest.raises(RetriableError):
            lake.flush(task)
        frozen.close()
    assert lake.flush(task) == {TopicPartition("orders", 0): 20}
    assert lake.numbers() == [(0, n) for n in range(20)]


@pytest.mark.attacks
def test_a_commit_that_is_said_to_be_done_and_is_not_claims_nothing(lake, commits):
    task = lake.task()
    task.put(rows(0, 0, 10), soon())
    commits.faults = ["untrue"]
    with pytest.raises(RetriableError, match="answers a table without it"):
        lake.flush(task)
    assert lake.flush(task) == {TopicPartition("orders", 0): 10}
    assert lake.numbers() == [(0, n) for n in range(10)]


def test_the_librarys_own_retries_are_off_whatever_the_table_says(lake, commits):
    """They would commit the same rows behind whatever came first, without a look at its offsets."""
    lake.flush(task := lake.task())
    task.put(rows(0, 0, 10), soon())
    lake.flush(task)
    with lake.catalog().load_table("lake.orders").transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "20", "commit.retry.min-wait-ms": "1"})
    rival = lake.task()
    task.put(rows(0, 10, 20), soon())
    rival.put(rows(0, 10, 20), soon())
    commits.faults = ["meanwhile"]
    commits.meanwhile = lambda: lake.flush(rival) and None
    lake.flush(task)
    assert lake.numbers() == [(0, n) for n in range(20)]


def test_offsets_are_in_the_summary_and_stay_through_a_snapshot_of_somebody_else(lake):
    task = lake.task(topic_ids={"orders": "id-7"})
    task.put(rows(0, 5, 8), soon())
    task.put(rows(2, 0, 4), soon())
    lake.flush(task)
    table = lake.catalog().load_table("lake.orders")
    told = '{"orders":{"id":"id-7","next":{"0":8,"2":4},"runs":{"under-test":{"0":[[5,8]],"2":[[0,4]]}}}}'
    assert table.current_snapshot().summary[OFFSETS] == told
    table.delete("n = 6")
    task.put(rows(0, 5, 9), soon())  # offsets were reset: what somebody deleted does not come back by itself
    assert lake.flush(task)[TopicPartition("orders", 0)] == 9
    assert lake.numbers() == [(0, 5), (0, 7), (0, 8), *((2, n) for n in range(4))]


def test_a_topic_made_anew_stops_the_task(lake):
    task = lake.task(topic_ids={"orders": "id-7"})
    task.put(rows(0, 0, 3), soon())
    lake.flush(task)
    anew = lake.task(topic_ids={"orders": "id-8"})
    anew.put(rows(0, 0, 3), soon())
    with pytest.raises(ConnectError, match="made anew"):
        lake.flush(anew)
    assert len(lake.numbers()) == 3


def test_a_table_taken_back_under_a_running_task_is_said(lake):
    task = lake.task()
    for start in (0, 10):
        task.put(rows(0, start, start + 10), soon())
        lake.flush(task)
    table = lake.catalog().load_table("lake.orders")
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.history()[0].snapshot_id).commit()
    task.put(rows(0, 20, 30), soon())
    with pytest.raises(ConnectError, match="earlier snapshot"):
        lake.flush(task)


def test_columns_are_added_and_promoted_and_old_files_read_on(lake):
    task = lake.task()
    old = s.struct({"id": s.INT32, "price": s.FLOAT32, "gone": s.STRING})
    task.put(values([{"id": 1, "price": 0.5, "gone": "x"}], 0, old), soon())
    lake.flush(task)
    new = s.struct({"id": s.INT64, "price": s.FLOAT64, "at": s.TIMESTAMP_SCHEMA.as_optional(),
                    "tags": s.array(s.STRING)})  # fmt: skip
    task.put(values([{"id": 2**40, "price": 0.25, "at": None, "tags": ["a"]}], 1, new), soon())
    task.put(values([{"id": 3, "price": 1.5, "gone": "y"}], 2, old), soon())
    lake.flush(task)
    assert sorted(lake.table().to_pylist(), key=lambda row: row["price"]) == [
        {"id": 2**40, "price": 0.25, "gone": None, "at": None, "tags": ["a"]},
        {"id": 1, "price": 0.5, "gone": "x", "at": None, "tags": None},
        {"id": 3, "price": 1.5, "gone": "y", "at": None, "tags": None},
    ]
    table = lake.catalog().load_table("lake.orders")
    assert len(table.schemas()) == 2
    assert str(table.schema().find_type("id")) == "long"


def test_a_row_of_another_type_is_a_bad_row_and_the_others_are_taken(lake):
    task = lake.task()
    task.put(values([{"n": 1}, {"n": 2}]), soon())
    lake.flush(task)
    with pytest.raises(RejectedRowsError, match="string") as raised:
        task.put(values([{"n": 3}, {"n": "four"}, {"n": 5, "new": True}, {"n": 5.5}], 2), soon())
    assert set(raised.value.rows) == {1, 3}
    assert lake.flush(task) == {TopicPartition("orders", 0): 6}
    assert lake.table().sort_by("n").to_pylist() == [
        {"n": 1, "new": None}, {"n": 2, "new": None}, {"n": 3, "new": None}, {"n": 5, "new": True},
    ]  # fmt: skip


def test_without_evolution_rows_that_need_a_column_are_bad_rows(lake):
    task = lake.task()
    task.put(values([{"n": 1}]), soon())
    lake.flush(task)
    lake.settings = {"iceberg_evolve_schema": "false"}
    strict = lake.task()
    with pytest.raises(RejectedRowsError, match=r"iceberg\.evolve\.schema=true") as raised:
        strict.put(values([{"n": 2}, {"n": 3, "new": 1}], 1), soon())
    assert set(raised.value.rows) == {1}
    lake.flush(strict)
    assert lake.table().to_pylist() == [{"n": 2}, {"n": 1}] or lake.table().to_pylist() == [{"n": 1}, {"n": 2}]


def test_nulls_are_bad_rows_or_left_out(lake):
    schema = s.struct({"n": s.INT64}).as_optional()
    task = lake.task()
    with pytest.raises(RejectedRowsError, match="null value") as raised:
        task.put(values([{"n": 0}, None, {"n": 2}], 0, schema), soon())
    assert set(raised.value.rows) == {1}
    lake.settings = {"behavior_on_null_values": "ignore"}
    ignoring = lake.task()
    ignoring.put(values([None, {"n": 9}], 3, schema), soon())
    for one in (task, ignoring):
        lake.flush(one)
    assert sorted(lake.table()["n"].to_pylist()) == [0, 2, 9]


def test_tables_are_partitioned_as_said_and_files_hold_one_partition(lake):
    lake.settings = {"iceberg_partition_by": "day(at), bucket(id, 4)"}
    task = lake.task()
    schema = s.struct({"id": s.INT64, "at": s.TIMESTAMP_SCHEMA.as_optional()})
    given = [{"id": n, "at": None if n % 5 == 0 else pa.scalar(n * 40_000_000, pa.timestamp("ms", "UTC")).as_py()}
             for n in range(40)]  # fmt: skip
    task.put(values(given, 0, schema), soon())
    lake.flush(task)
    table = lake.catalog().load_table("lake.orders")
    assert [str(one.transform) for one in table.spec().fields] == ["day", "bucket[4]"]
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == given
    files = list(table.inspect.files()["file_path"].to_pylist())
    assert len(files) > 10
    found = table.scan(row_filter="id = 7").to_arrow()
    assert found["id"].to_pylist() == [7]
    assert len(list(table.scan(row_filter="id = 7").plan_files())) < len(files) / 3


def test_two_tasks_that_make_the_table_at_once_share_it(lake, commits):
    tasks = [lake.task(), lake.task()]
    commits.creation = lambda: tasks[1].put(rows(1, 0, 5), soon())
    tasks[0].put(rows(0, 0, 5), soon())
    for task in tasks:
        lake.flush(task)
    assert lake.numbers() == [(number, n) for number in range(2) for n in range(5)]


def test_a_partition_field_that_the_table_lacks_is_named(lake):
    lake.settings = {"iceberg_partition_by": "day(nowhere)"}
    with pytest.raises(ConnectError, match="nowhere") as raised:
        lake.task().put(values([{"n": 1}]), soon())
    assert raised.value.key == "iceberg.partition.by"


def test_batches_of_one_poll_are_in_one_snapshot(lake):
    """Their offsets lie among each other's, so a snapshot between them would say that rows are there that are not."""
    lake.settings = {"flush_size": "1", "buffer_max_bytes": "1"}
    task = lake.task()
    whole = rows(0, 0, 6)
    task.put(whole.take([0, 2, 4]), soon())
    task.put(whole.take([1, 3, 5]), soon())
    assert lake.flush(task) == {TopicPartition("orders", 0): 6}
    assert lake.numbers() == [(0, n) for n in range(6)]
    assert len(lake.catalog().load_table("lake.orders").snapshots()) == 1


def test_rows_wait_until_a_rule_ends_them_and_their_offsets_too(lake):
    lake.settings = {"rotate_schedule_interval_ms": "-1", "flush_size": "10"}
    task = lake.task()
    task.put(rows(0, 0, 9), soon())
    assert lake.flush(task) == {}
    task.put(rows(0, 9, 11), soon())
    assert lake.flush(task) == {TopicPartition("orders", 0): 11}


def test_two_topics_have_two_tables(lake):
    task = lake.task()
    task.put(values([{"a": 1}], topic="one.x"), soon())
    task.put(values([{"b": 2}], topic="two"), soon())
    assert lake.flush(task) == {TopicPartition("one.x", 0): 1, TopicPartition("two", 0): 1}
    assert lake.table("lake.one_x").to_pylist() == [{"a": 1}]
    assert lake.table("lake.two").to_pylist() == [{"b": 2}]
