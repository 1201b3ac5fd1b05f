"""Each row once in an Iceberg table, whatever happens to tasks and to the commits of their snapshots."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

from connect.api import schema as s
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.testing.fakes import FakeSinkContext
from connectors.s3.classes import LOCAL_STORAGE, PARQUET_FORMAT
from connectors.s3.config import S3SinkConfig
from connectors.s3.iceberg.progress import OFFSETS, Progress
from connectors.s3.iceberg.sink import IcebergSinkTask

pytestmark = pytest.mark.thorough

SCHEMA = s.struct({"n": s.INT64, "p": s.INT32})


class DiedError(BaseException):
    """The process is gone."""


@dataclass
class Lake:
    """A warehouse in a folder, and its catalogue in SQLite."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    clock_ms: int = 0

    def config(self) -> S3SinkConfig:
        return S3SinkConfig.parse({
            "storage.class": LOCAL_STORAGE, "s3.bucket.name": str(self.folder), "s3.local.folders": str(self.folder),
            "format.class": PARQUET_FORMAT, "flush.size": "100000", "rotate.schedule.interval.ms": "1",
            "table.format": "iceberg", "iceberg.catalog.type": "sql",
            "iceberg.catalog.uri": f"sqlite:///{self.folder}/catalog.db", "iceberg.table": "lake.${topic}",
            **{name.replace("_", "."): value for name, value in self.settings.items()},
        })  # fmt: skip

    def task(self, **context: object) -> IcebergSinkTask:
        task = IcebergSinkTask(self.config(), now_ms=lambda: self.clock_ms)
        task.open(FakeSinkContext(**context))
        return task

    def flush(self, task: IcebergSinkTask) -> dict[TopicPartition, int]:
        self.clock_ms += 10
        return dict(task.flush(Deadline.after(20)))

    def catalog(self) -> SqlCatalog:
        return SqlCatalog(
            "iceberg", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"{self.folder.as_uri()}/topics"
        )

    def table(self, name: str = "lake.orders") -> pa.Table:
        return self.catalog().load_table(name).scan().to_arrow()

    def numbers(self) -> list[tuple[int, int]]:
        found = self.table()
        return sorted(zip(found["p"].to_pylist(), found["n"].to_pylist(), strict=True))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def rows(number: int, start: int, stop: int) -> Batch:
    """Rows of a partition, which tell where they stand."""
    offsets = pa.array(range(start, stop), pa.int64())
    numbers = pa.repeat(pa.scalar(number, pa.int32()), stop - start)
    fields = [pa.field("n", pa.int64(), nullable=False), pa.field("p", pa.int32(), nullable=False)]
    values = pa.StructArray.from_arrays([offsets, numbers], fields=fields)
    consumed = Consumed(TopicPartition("orders", number), offsets, stop)
    return Batch("orders", Column.from_arrow(values, SCHEMA), timestamps_ms=offsets, consumed=consumed)


def values(given: list, start: int = 0, schema: s.Schema | None = None, topic: str = "orders") -> Batch:
    offsets = pa.array(range(start, start + len(given)), pa.int64())
    consumed = Consumed(TopicPartition(topic, 0), offsets, start + len(given))
    return Batch(topic, Column.from_rows(given, schema), timestamps_ms=offsets, consumed=consumed)


def soon() -> Deadline:
    return Deadline.after(20)


@dataclass
class Commits:
    """What becomes of the next commits of snapshots."""

    faults: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    creation: Callable[[], None] | None = None

    def around(self, real: Callable) -> Callable:
        def commit(catalog: SqlCatalog, table: object, requirements: tuple, updates: tuple) -> object:
            is_snapshot = any(type(update).__name__ == "AddSnapshotUpdate" for update in updates)
            fault = self.faults.pop(0) if is_snapshot and self.faults else ""
            if fault == "dies before":
                raise DiedError
            if fault == "lost race":
                raise CommitFailedException
            if fault == "away":
                raise OSError
            if any(type(requirement).__name__ == "AssertCreate" for requirement in requirements) and self.creation:
                creation, self.creation = self.creation, None
                creation()
            if fault == "meanwhile":
                self.meanwhile()
            answer = real(catalog, table, requirements, updates)
            if fault == "dies behind":
                raise DiedError
            if fault == "lost answer":
                raise OSError
            return answer

        return commit


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Commits:
    found = Commits()
    monkeypatch.setattr(SqlCatalog, "commit_table", found.around(SqlCatalog.commit_table))
    return found


FAULTS = ["", "", "", "dies before", "dies behind", "lost race", "lost answer", "away"]


@dataclass
class Run:
    """Lives of two tasks that share the partitions of a topic, and of former owners that write on."""

    lake: Lake
    commits: Commits
    seed: int
    rows: int
    partitions: int = 3

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.committed = [0] * self.partitions
        self.zombies: list[tuple[IcebergSinkTask, dict[int, int]]] = []

    def put(self, task: IcebergSinkTask, reads: dict[int, int]) -> None:
        number = self.chance.choice(list(reads))
        stop = min(self.rows, reads[number] + self.chance.randint(1, self.rows // 4))
        if stop > reads[number]:
            task.put(rows(number, reads[number], stop), soon())
            reads[number] = stop

    def flush(self, task: IcebergSinkTask) -> dict[TopicPartition, int]:
        try:
            return self.lake.flush(task)
        except RetriableError:
            return {}

    def live(self) -> None:
        """Both tasks, until one of them dies or they give their partitions back."""
        split = self.chance.randint(1, self.partitions - 1)
        shares = [range(split), range(split, self.partitions)]
        tasks = [(self.lake.task(), {number: self.committed[number] for number in share}) for share in shares]
        for _ in range(self.chance.randint(2, 8)):
            task, reads = self.chance.choice(tasks)
            self.commits.faults = [self.chance.choice(FAULTS) for _ in range(2)]
            try:
                self.put(task, reads)
                if self.chance.random() < 0.6:
                    self.commit(self.flush(task))
            except DiedError:
                self.commits.faults = []
                break
            self.commits.faults = []
            self.haunt()
        for task, reads in tasks:
            if self.chance.random() < 0.3:
                self.zombies.append((task, reads))
            else:
                task.close()

    def commit(self, claimed: dict[TopicPartition, int]) -> None:
        for partition, offset in claimed.items():
            assert offset >= self.committed[partition.partition], "a commit never goes back"
            if self.chance.random() < 0.7:
                self.committed[partition.partition] = offset

    def haunt(self) -> None:
        """A former owner reads and writes on; its offsets are refused."""
        if self.zombies and self.chance.random() < 0.5:
            task, reads = self.chance.choice(self.zombies)
            self.put(task, reads)
            self.flush(task)

    def finish(self) -> None:
        task = self.lake.task()
        for number in range(self.partitions):
            if self.committed[number] < self.rows:
                task.put(rows(number, self.committed[number], self.rows), soon())
        self.lake.flush(task)
        task.close()
        for zombie, _ in self.zombies:
            self.flush(zombie)
            zombie.close()

    def check(self) -> None:
        found = Counter(self.lake.numbers())
        assert found == Counter((number, n) for number in range(self.partitions) for n in range(self.rows))
        table = self.lake.catalog().load_table("lake.orders")
        told = Progress.of(table.current_snapshot(), table.snapshot_by_id)
        assert [told.next_offset(TopicPartition("orders", n)) for n in range(self.partitions)] == [self.rows] * 3


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
    assert table.current_snapshot().summary[OFFSETS] == '{"orders":{"id":"id-7","next":{"0":8,"2":4}}}'
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
