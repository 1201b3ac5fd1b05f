"""Runs several tasks of one connector: none waits for ever for another one, whatever that one does or does not do."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config
from test_bigquery_merging import Tables, batch, merging

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.dedup.sealed_batch import SealedBatch
from connectors.bigquery.merge import merge_line, merge_writer
from connectors.bigquery.merge.merge_writer import Merging
from connectors.bigquery.merge.staging import batch_id, digest_of
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.settings.config import TASKS_KEY, BigQuerySinkConfig
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.job_facts import Changed
from connectors.bigquery.warehouse.table_facts import TableFacts

SOON_S = 20.0


@pytest.fixture(scope="module")
def table() -> SqlTable:
    return SqlTable(config())


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_writer, "_LOOK_S", 0.01)
    monkeypatch.setattr(merge_line, "_QUIET_S", 0.02)


class ManyTables(Tables):
    """All tables are there but for those that are `gone`. slow: a job of the line that runs until it is set; waited:
    somebody waits for it."""

    def __init__(self, table: SqlTable, *gone: str) -> None:
        super().__init__(table.columns)
        self.gone = set(gone)
        self.slow: threading.Event | None = None
        self.waited = threading.Event()

    def table(self, name: str) -> TableFacts | None:
        if name in self.staged:
            return self.staged[name]
        is_beside = "_tmp_" in name or name.endswith("_log")
        return None if is_beside or name in self.gone else TableFacts(name, self.columns, {}, "")

    def has_attempt(self, job_id: str, attempt: int) -> bool:
        return self.slow is not None and attempt == 0

    def wait_for(self, job_id: str, attempt: int) -> None:
        assert self.slow is not None
        self.waited.set()
        assert self.slow.wait(SOON_S)


def rows_of(table: SqlTable, target: str, partition: int) -> SealedBatch:
    return replace(batch(table, partition, 1, 2), target=target)


def other_task(target: str) -> int:
    """The number of the task, of two, that does not merge the table."""
    return 1 - Role("c", 0, 2, "tmp").merging_task(target)


@contextmanager
def landing(one: Merging, *batches: SealedBatch) -> Iterator[list[Future[Any]]]:
    """The batches on their way, on as many threads as a task has."""
    with ThreadPoolExecutor(one.threads) as threads:
        try:
            yield [threads.submit(one.write, sealed) for sealed in batches]
        finally:
            one.stop()


def test_two_tasks_of_forty_tables_do_not_wait_for_each_others_threads(table):
    tables = ManyTables(table)
    both = [merging(tables, task, 2) for task in (0, 1)]
    pools = [ThreadPoolExecutor(one.threads) for one in both]
    lands = [
        pool.submit(one.write, rows_of(table, f"t{number}", task))
        for task, (one, pool) in enumerate(zip(both, pools, strict=True))
        for number in range(40)
    ]
    deadline = Deadline.after(SOON_S)
    try:
        while not all(land.done() for land in lands):
            looks = [pool.submit(one.collect) for one, pool in zip(both, pools, strict=True)]
            for look in looks:
                look.result(max(0.1, deadline.remaining_s))
    finally:
        for one, pool in zip(both, pools, strict=True):
            one.stop()
            pool.shutdown()
    assert [dict(land.result()) for land in lands] == [{}] * 80
    assert tables.staged == {}


class CountedListings(ManyTables):
    """`keeps`: what is merged is not dropped yet."""

    listings = 0
    keeps = False

    def drop(self, name: str) -> None:
        if not self.keeps:
            super().drop(name)

    def labelled(self, labels: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
        self.listings += 1
        return super().labelled(labels)


def test_a_dataset_is_listed_once_in_half_an_interval_however_many_tables_are_merged(table):
    tables = CountedListings(table)
    one = merging(tables, 0, 2)
    own = [name for name in (f"t{number}" for number in range(60)) if other_task(name) == 1]
    for name in own:
        assert one.write(rows_of(table, name, 0)) == {}
    assert len(tables.merged) == len(own) > 20
    assert tables.listings == 1
    one.collect()
    assert tables.listings == 2, "what other tasks staged is looked for once in an interval"


def test_what_is_merged_already_is_not_merged_again_by_an_old_listing(table):
    tables = CountedListings(table)
    tables.keeps = True
    leader, other = (merging(tables, task, 2) for task in (1 - other_task("t0"), other_task("t0")))
    with landing(other, rows_of(table, "t0", 1)) as lands:
        deadline = Deadline.after(SOON_S)
        while not lands[0].done():
            leader.collect()
            assert deadline.wait(0.01), "the other task's batch is never merged"
        assert lands[0].result(SOON_S) == {}
    merged = len(tables.merged)
    assert leader.write(rows_of(table, "t0", 0)) == {}
    assert len(tables.merged) == merged + 1


def test_a_task_that_waits_works_at_nothing(table):
    """Of two tables at once, two wait for the other task: its own tables are merged meanwhile."""
    tables = ManyTables(table)
    names = [f"t{number}" for number in range(40)]
    mine = other_task("t0")
    others = [name for name in names if other_task(name) == mine][:8]
    own = next(name for name in names if other_task(name) != mine)
    one = merging(tables, mine, 2)
    with landing(one, *(rows_of(table, name, 0) for name in others), rows_of(table, own, 0)) as lands:
        assert lands[-1].result(SOON_S) == {}
        assert not any(land.done() for land in lands[:-1])
    assert all(isinstance(land.exception(SOON_S), RetriableError) for land in lands[:-1])


class LosesColumn(ManyTables):
    """Somebody has dropped the column `text`, and BigQuery refuses a statement that assigns it."""

    def table(self, name: str) -> TableFacts | None:
        found = super().table(name)
        if found is None or name in self.staged:
            return found
        return replace(found, columns=tuple(column for column in found.columns if column.name != "text"))

    def run(self, sql: str, job_id: str, doing: str, **others: Any) -> Changed:
        if "`text` = S.`text`" in sql:
            raise RefusedJobError("Column text is not present in table t0")
        return super().run(sql, job_id, doing, **others)


@pytest.mark.parametrize("tasks", [1, 2])
def test_no_value_is_left_out_as_its_column_was_dropped_meanwhile(table, tasks):
    tables = LosesColumn(table)
    one = merging(tables, Role("c", 0, tasks, "tmp").merging_task("t0"), tasks)
    with pytest.raises(RefusedJobError, match="text"):
        one.write(rows_of(table, "t0", 0))
    assert tables.merged == []


def test_batches_without_rows_are_told_apart(table):
    none = batch(table, 0, 1).slice(0, 0)
    ids = {batch_id(owner, none, b"") for owner in ("one", "other", "one", "one")}
    assert len(ids) == 4
    some = batch(table, 0, 1)
    assert batch_id("one", some, b"x") == batch_id("one", some, b"x") != batch_id("other", some, b"x")


def test_two_tasks_stage_the_same_rows_in_tables_of_their_own(table):
    tables = ManyTables(table)
    names = {merging(tables, task, 2)._staging.fill(batch(table, 0, 1)).name for task in (0, 0, 1)}
    assert len(names) == 3


def test_a_batch_that_the_merging_task_does_not_look_at_is_merged_where_it_was_staged(table, monkeypatch):
    monkeypatch.setattr(merge_writer, "_PATIENCE_S", 0.05)
    tables = ManyTables(table)
    one = merging(tables, other_task("orders"), 2)
    one._interval_s = 0.05
    with landing(one, batch(table, 0, 1, 2)) as (land,):
        assert land.result(SOON_S) == {}
    assert len(tables.merged) == 1
    assert tables.staged == {}


def test_a_merge_that_takes_long_is_no_sign_of_death(table, monkeypatch):
    monkeypatch.setattr(merge_writer, "_PATIENCE_S", 0.05)
    tables = ManyTables(table)
    tables.slow = threading.Event()
    one = merging(tables, other_task("orders"), 2)
    one._interval_s = 0.05
    with landing(one, batch(table, 0, 1, 2)) as (land,):
        assert tables.waited.wait(SOON_S)
        tables.label(next(iter(tables.staged)), {"kafka-connect-state": "merged"})
        tables.slow.set()
        assert land.result(SOON_S) == {}
    assert tables.merged == []


def test_a_table_that_is_gone_holds_up_no_other_and_is_told_to_the_task_that_can_make_it(table):
    tables = ManyTables(table)
    names = [name for name in (f"t{number}" for number in range(20)) if other_task(name) == 1][:3]
    tables.gone = {names[0]}
    leader, other = merging(tables, 0, 2), merging(tables, 1, 2)
    with landing(other, *(rows_of(table, name, 0) for name in names)) as lands:
        deadline = Deadline.after(SOON_S)
        while not all(land.done() for land in lands) and not deadline.expired:
            leader.collect()
    assert [land.exception() is None for land in lands] == [False, True, True]
    assert isinstance(lands[0].exception(), RetriableError)
    assert "is made again" in str(lands[0].exception())


class Stuck(ManyTables):
    """A dataset whose merges never end."""

    def relabel(self, name: str, change: Any) -> bool:
        return change({}) is not None

    def within(self, _: Deadline) -> Any:
        return contextmanager(lambda: iter([None]))()

    def look(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


def test_the_status_says_what_rows_on_their_way_wait_for(table, monkeypatch):
    tables, clock_s = Stuck(table), [0.0]
    monkeypatch.setattr(sink, "open_warehouse", lambda _: tables)
    given = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "dedup.merge.interval.ms": "0"}
    mine = other_task("orders")
    task = sink.BigQuerySinkTask(BigQuerySinkConfig.parse({**given, TASKS_KEY: "2"}), lambda: clock_s[0])
    context = FakeSinkContext(task=mine)
    task.open(context)
    task.put(batch_of([Message(0, 0, 1, 0)]), Deadline.after(1))
    task.flush(Deadline.after(1))
    assert context.explained is None
    while not task._open.writer.doing("orders").startswith("task "):
        task.flush(Deadline.after(1))
    clock_s[0] += 20
    task.flush(Deadline.after(1))
    assert context.explained == (
        f"Rows of table orders are on their way: task {1 - mine} of the connector merges this table."
    )
    task.close()


def test_a_digest_tells_rows_and_their_form_apart():
    def rows(*numbers: int | None, name: str = "n", kind: pa.DataType | None = None) -> pa.Table:
        return pa.table({name: pa.array(numbers, kind or pa.int64())})

    one = digest_of([rows(1, 2), rows(3)])
    assert one == digest_of([rows(0, 1, 2, 9).slice(1, 2), rows(3)])
    others = [
        [rows(1, 2), rows(4)], [rows(1, 2)], [rows(1, None), rows(3)], [rows(2, 1), rows(3)],
        [rows(1, 2, name="m"), rows(3, name="m")], [rows(1, 2, kind=pa.int32()), rows(3, kind=pa.int32())],
    ]  # fmt: skip
    assert len({one, *map(digest_of, others)}) == 1 + len(others)
