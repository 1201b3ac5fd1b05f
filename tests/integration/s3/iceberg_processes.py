"""Tasks that write an Iceberg table, in processes that are killed and frozen; offsets are committed to files."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import pyarrow as pa

from connect.api import schema as s
from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.testing.fakes import FakeSinkContext
from connectors.s3.config import S3SinkConfig
from connectors.s3.iceberg.sink import IcebergSinkTask

SCHEMA = s.struct({"n": s.INT64, "p": s.INT32})
TOPIC = "orders"


def batch(number: int, start: int, stop: int) -> Batch:
    """Rows of a partition, which tell where they stand."""
    offsets = pa.array(range(start, stop), pa.int64())
    fields = [pa.field("n", pa.int64(), nullable=False), pa.field("p", pa.int32(), nullable=False)]
    numbers = pa.repeat(pa.scalar(number, pa.int32()), stop - start)
    values = pa.StructArray.from_arrays([offsets, numbers], fields=fields)
    consumed = Consumed(TopicPartition(TOPIC, number), offsets, stop)
    return Batch(TOPIC, Column.from_arrow(values, SCHEMA), timestamps_ms=offsets, consumed=consumed)


def committed(folder: Path, number: int) -> int:
    path = folder / f"committed-{number}"
    return int(path.read_text()) if path.exists() else 0


def put(task: IcebergSinkTask, rows: Batch) -> bool:
    try:
        task.put(rows, Deadline.after(30))
    except RetriableError:
        return False
    return True


def live(given: dict[str, str], share: Sequence[int], folder: Path, rows: int, seed: int) -> None:
    """What a worker does: read from the commit on, put, flush, commit; until all is committed."""
    chance = random.Random(seed)
    task = IcebergSinkTask(S3SinkConfig.parse(given))
    task.open(FakeSinkContext())
    reads = {number: committed(folder, number) for number in share}
    claimed = dict(reads)
    while min(claimed.values()) < rows:
        for number, start in reads.items():
            stop = min(rows, start + chance.randint(1, 100))
            if stop > start and put(task, batch(number, start, stop)):
                reads[number] = stop
        try:
            found = task.flush(Deadline.after(30))
        except RetriableError:
            continue
        for partition, offset in found.items():
            claimed[partition.partition] = offset
            new = folder / f"new-{partition.partition}-{os.getpid()}"
            new.write_text(str(offset))
            new.replace(folder / f"committed-{partition.partition}")
    task.close()


@dataclass
class Storm:
    """Two owners of the partitions of a topic, again and again, until all rows are committed."""

    given: dict[str, str]
    folder: Path
    rows: int
    seed: int
    lives_s: float
    frozen: list[BaseProcess] = field(default_factory=list)
    kills: int = 0
    freezes: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([__name__, "pyiceberg.catalog.sql", "pyiceberg.io.pyarrow"])

    def run(self, limit_s: float) -> None:
        until = time.monotonic() + limit_s
        while min(committed(self.folder, number) for number in range(3)) < self.rows:
            assert time.monotonic() < until, "the rows were not committed in time"
            self.round()
        for process in self.frozen:
            os.kill(process.pid, signal.SIGCONT)
            process.join(60)
            assert process.exitcode == 0

    def round(self) -> None:
        self.lives_s *= 1.2  # however slow the machine is, a life is once long enough to commit something
        owners = [self.start([0]), self.start([1, 2])]
        for process in owners:
            process.join(self.chance.uniform(0.1, self.lives_s))
        for process in owners:
            if not process.is_alive():
                assert process.exitcode == 0
            elif len(self.frozen) < 2 and self.chance.random() < 0.4:
                os.kill(process.pid, signal.SIGSTOP)
                self.frozen.append(process)
                self.freezes += 1
            else:
                process.kill()
                process.join()
                self.kills += 1
        if self.frozen and self.chance.random() < 0.3:
            # It goes on beside its successors, from where it was stopped.
            thawed = self.frozen.pop(0)
            os.kill(thawed.pid, signal.SIGCONT)
            thawed.join(self.chance.uniform(0.1, self.lives_s))
            thawed.kill()
            thawed.join()

    def start(self, share: Sequence[int]) -> BaseProcess:
        given = (self.given, share, self.folder, self.rows, self.chance.randrange(2**32))
        process = self.context.Process(target=live, args=given, daemon=True)
        process.start()
        return process
