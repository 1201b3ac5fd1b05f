"""Runs tasks that write an Iceberg table, in processes that are killed and frozen at counted points of their work."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Semaphore
from pathlib import Path

import pyarrow as pa

from connect.api import schema as s
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.iceberg.sink import IcebergSinkTask
from connectors.s3.settings.config import S3SinkConfig

SCHEMA = s.struct({"n": s.INT64, "p": s.INT32})
TOPIC = "orders"
SHARES = ((0,), (1, 2))
"""Each of two owners has these partitions."""
_IDLE_S = 0.01
_IN_A_STEP_S = 0.05
_HELD_UP_S = 5.0
"""An owner that takes no step for this many seconds waits for a lock that a frozen one holds."""
_END_LIMIT_S = 180.0


def batch(number: int, start: int, stop: int) -> Batch:
    """Return rows of a partition; each contains its place."""
    offsets = pa.array(range(start, stop), pa.int64())
    fields = [pa.field("n", pa.int64(), nullable=False), pa.field("p", pa.int32(), nullable=False)]
    numbers = pa.repeat(pa.scalar(number, pa.int32()), stop - start)
    values = pa.StructArray.from_arrays([offsets, numbers], fields=fields)
    consumed = Consumed(TopicPartition(TOPIC, number), offsets, stop)
    return Batch(TOPIC, Column.from_arrow(values, SCHEMA), timestamps_ms=offsets, consumed=consumed)


def number_in(path: Path) -> int:
    return int(path.read_text()) if path.exists() else 0


def write_number(path: Path, number: int) -> None:
    new = path.with_name(f"new-{path.name}-{os.getpid()}")
    new.write_text(str(number))
    new.replace(path)


@dataclass(frozen=True)
class Log:
    """Holds, in files, a topic that has `end` records in each partition and grows to `rows`, and the committed
    offsets.
    """

    folder: Path
    rows: int

    def end(self) -> int:
        return number_in(self.folder / "end")

    def grow_to(self, end: int) -> None:
        write_number(self.folder / "end", end)

    def committed(self, number: int) -> int:
        return number_in(self.folder / f"committed-{number}")

    def commit(self, number: int, offset: int) -> None:
        write_number(self.folder / f"committed-{number}", offset)


def put(task: IcebergSinkTask, rows: Batch) -> bool:
    try:
        task.put(rows, Deadline.after(30))
    except RetriableError:
        return False
    return True


def live(given: dict[str, str], share: Sequence[int], log: Log, seed: int, steps: Semaphore) -> None:
    """Do what a worker does: read from the last commit on, put, flush, commit, until all is committed. Each step is
    counted.
    """
    chance = random.Random(seed)
    task = IcebergSinkTask(S3SinkConfig.parse(given))
    task.open(FakeSinkContext())
    reads = {number: log.committed(number) for number in share}
    claimed = dict(reads)
    while min(claimed.values()) < log.rows:
        end = log.end()
        if min(reads.values()) >= end:
            threading.Event().wait(_IDLE_S)
        for number, start in reads.items():
            steps.release()
            stop = min(end, start + chance.randint(1, 40))
            if stop > start and put(task, batch(number, start, stop)):
                reads[number] = stop
        steps.release()
        try:
            found = task.flush(Deadline.after(30))
        except RetriableError:
            continue
        for partition, offset in found.items():
            claimed[partition.partition] = offset
            log.commit(partition.partition, offset)
    task.close()


@dataclass(frozen=True)
class Owner:
    """Keeps a process that writes the rows of some partitions; `steps` counts the steps that it has begun."""

    process: BaseProcess
    steps: Semaphore

    def await_steps(self, count: int) -> None:
        """Wait until the process has begun `count` more steps, or until a frozen one holds it up."""
        while self.steps.acquire(block=False):
            pass
        for _ in range(count):
            if not self.steps.acquire(timeout=_HELD_UP_S):
                return

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        assert self.process.exitcode == -signal.SIGKILL, "an owner ended before all rows were there"

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def await_end(self) -> None:
        self.process.join(_END_LIMIT_S)
        assert self.process.exitcode == 0


class Storm:
    """Runs two owners of the partitions of a topic; again and again one of them is killed or frozen after some steps.

    Another process takes its place. Frozen ones go on later, beside their successors. The topic grows with each stroke,
    so that nobody has written all rows before the last one.
    """

    def __init__(self, given: dict[str, str], folder: Path, *, rows: int, seed: int, kills: int, freezes: int) -> None:
        self._given = given
        self._log = Log(folder, rows)
        self._chance = random.Random(seed)
        self._strokes = self._chance.sample([Owner.kill] * kills + [Owner.freeze] * freezes, kills + freezes)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__, "pyiceberg.catalog.sql", "pyiceberg.io.pyarrow"])
        self._started: list[Owner] = []

    def run(self) -> None:
        """Carry out all strokes, and wait until all rows are written."""
        try:
            self._run()
        finally:
            for owner in self._started:
                owner.process.kill()

    def _run(self) -> None:
        owners = {share: self._start(share) for share in SHARES}
        former: list[Owner] = []
        frozen: list[Owner] = []
        for number, stroke in enumerate(self._strokes, start=1):
            self._log.grow_to(self._log.rows * number // (len(self._strokes) + 1))
            share = self._chance.choice(SHARES)
            owners[share].await_steps(self._chance.randint(1, 6))
            threading.Event().wait(self._chance.uniform(0, _IN_A_STEP_S))
            stroke(owners[share])
            if stroke is Owner.freeze:
                frozen.append(owners[share])
            owners[share] = self._start(share)
            if frozen and self._chance.random() < 0.4:
                former.append(frozen.pop(0))
                former[-1].thaw()
        self._log.grow_to(self._log.rows)
        for owner in frozen:
            owner.thaw()
        for owner in [*owners.values(), *former, *frozen]:
            owner.await_end()

    def _start(self, share: Sequence[int]) -> Owner:
        steps = self._context.Semaphore(0)
        given = (self._given, share, self._log, self._chance.randrange(2**32), steps)
        owner = Owner(self._context.Process(target=live, args=given, daemon=True), steps)
        owner.process.start()
        self._started.append(owner)
        return owner
