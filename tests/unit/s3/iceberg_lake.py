"""Iceberg tables in a folder, lives of tasks that write them, and what becomes of their commits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import CommitTableResponse, Table

from connect.api import schema as s
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import PARQUET_FORMAT
from connectors.s3.iceberg.data_files import write_rows
from connectors.s3.iceberg.sink import IcebergSinkTask
from connectors.s3.iceberg.stored_progress import told_by
from connectors.s3.settings.classes import LOCAL_STORAGE
from connectors.s3.settings.config import S3SinkConfig

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
        return dict(task.flush(Deadline.after(60)))

    def catalog(self) -> SqlCatalog:
        return SqlCatalog(
            "iceberg", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"{self.folder.as_uri()}/topics"
        )

    def table(self, name: str = "lake.orders") -> pa.Table:
        return self.catalog().load_table(name).scan().to_arrow()

    def rewrite(self, *, deletes: str = "") -> None:
        """What another engine does: its snapshots say nothing of offsets, and all others expire."""
        table = self.catalog().load_table("lake.orders")
        if deletes:
            table.delete(deletes)
        # As Spark's rewrite_data_files: all rows in new files, in one snapshot.
        with table.transaction() as transaction, transaction.update_snapshot().overwrite() as change:
            for old in table.scan().plan_files():
                change.delete_data_file(old.file)
            for new in write_rows(table, table.scan().to_arrow()):
                change.append_data_file(new)
        self.expire()

    def expire(self) -> None:
        """Keep the newest snapshot alone."""
        table = self.catalog().load_table("lake.orders")
        table.maintenance.expire_snapshots().older_than(datetime(2100, 1, 1, tzinfo=UTC)).commit()

    def roll_back(self, snapshots: int) -> None:
        """Take the table back to the snapshot before so many."""
        table = self.catalog().load_table("lake.orders")
        former = table.history()[-1 - snapshots].snapshot_id
        table.manage_snapshots().set_current_snapshot(snapshot_id=former).commit()

    def numbers(self) -> list[tuple[int, int]]:
        found = self.table()
        return sorted(zip(found["p"].to_pylist(), found["n"].to_pylist(), strict=True))


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
    return Deadline.after(60)


@dataclass
class Commits:
    """What becomes of the next commits of snapshots."""

    faults: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    creation: Callable[[], None] | None = None

    def around(self, real: Callable) -> Callable:
        def commit(catalog: SqlCatalog, table: Table, requirements: tuple, updates: tuple) -> object:
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
            if fault == "untrue":
                return CommitTableResponse(metadata=table.metadata, metadata_location=table.metadata_location)
            answer = real(catalog, table, requirements, updates)
            if fault == "dies behind":
                raise DiedError
            if fault == "lost answer":
                raise OSError
            return answer

        return commit


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
        self.has_skipped = False

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
        """Both tasks, until one of them dies or they give their partitions back. Offsets may be altered before."""
        if self.chance.random() < 0.15:
            self.has_skipped = True
            self.committed = [self.chance.randint(offset, self.rows) for offset in self.committed]
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
        self.committed = [0] * self.partitions if self.has_skipped else self.committed
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
        told = told_by(table).progress
        held = [told.own("under-test", TopicPartition("orders", n)) for n in range(self.partitions)]
        assert held == [((0, self.rows),)] * 3
