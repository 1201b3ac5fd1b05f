"""Simulates Kafka in memory for the loop of one task: acknowledgements and rebalances by a script, and death at any
step.

Every call that reaches Kafka, and each of its effects, is a step. A test counts the steps of a whole life of the task,
and then lets the task die at each of them.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa

from connect.api.errors import RetriableError
from connect.api.records import SourcePosition, TopicPartition
from connect.kafka.client.errors import PartlySentError
from connect.kafka.consume.gaps import Gap
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.source.ledger import partition_key
from connect.runtime.task.control import Control

_TICK_S = 0.005
OFFSETS = "offsets"
"""This is the topic of source offsets."""


class KilledError(BaseException):
    """Stands for kill -9: nothing after it runs."""


class FakeKafka:
    """Holds what survives the death of a task."""

    def __init__(self, dies_at: int | str | None = None, after_step: Callable[[FakeKafka], None] | None = None) -> None:
        """Take `dies_at`, the number of the step at which the task dies, or the name whose first step that is.

        `after_step` is called after each step, and checks what must always hold.
        """
        self.dies_at = dies_at
        self.steps: list[str] = []
        self.records: dict[str, list[bytes]] = defaultdict(list)
        """What readers of committed records see."""
        self.unfinished: list[tuple[str, bytes | None, bytes]] = []
        """The rows of the open transaction."""
        self.offsets: dict[str, dict[str, object]] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.stuck: set[str] = set()
        """Topics whose rows are not taken for now."""
        self.failures: dict[str, int] = {}
        """How often a step yet fails with a RetriableError, by its name."""
        self.commits = threading.Event()
        """Commits end while this is set."""
        self.commits.set()
        self._after_step = after_step
        self._is_dead = False
        self.lock = threading.RLock()  # a commit may run on another thread beside the task's

    def step(self, name: str) -> None:
        """Count a step, and let the task die if it is the one."""
        with self.lock:
            if self._is_dead or self.dies_at in {name, len(self.steps)}:
                self._is_dead = True
                raise KilledError(name)
            self.steps.append(name)
            if self._after_step is not None:
                self._after_step(self)
            if self.failures.get(name, 0):
                self.failures[name] -= 1
                raise RetriableError(f"{name}: the brokers do not answer.")

    def after_death(self) -> FakeKafka:
        """Return this Kafka for the task's next life: nothing kills it any more, and its open transaction is
        aborted.
        """
        with self.lock:
            after = FakeKafka(after_step=self._after_step)
            after.records |= {topic: list(rows) for topic, rows in self.records.items()}
            after.offsets, after.committed, after.stuck = dict(self.offsets), dict(self.committed), self.stuck
            return after

    def written(self, topic: str, key: bytes | None, value: bytes) -> None:
        """Make a row visible to readers."""
        self.records[topic].append(value)
        if topic == OFFSETS and key is not None:
            self.offsets[key.decode()] = json.loads(value)


class _Row(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes
    receipt: Receipt


class FakeProducer:
    """Stands for a `BatchProducer`.

    `acknowledged` says how many rows are acknowledged at each `check`; after the last number all of them are. Its queue
    has room for `room` rows.
    """

    def __init__(self, kafka: FakeKafka, acknowledged: Iterable[int] = (), room: int = 1000) -> None:
        self._kafka = kafka
        self._room = room
        self._partly: tuple[RawBatch, int] | None = None
        self._acknowledged = iter(acknowledged)
        self._waiting: list[_Row] = []
        self._transaction: str | None = None

    @property
    def outstanding(self) -> int:
        return len(self._waiting)

    def send(self, batch: RawBatch, deadline: Deadline, receipt: Receipt | None = None) -> None:
        assert self._transaction != "committing", "a row is sent into a transaction that is being committed"
        self._kafka.step("send")
        receipt = receipt or Receipt()
        keys = [None] * len(batch) if batch.keys is None else batch.keys.to_pylist()
        start = self._partly[1] if self._partly is not None and self._partly[0] is batch else 0
        self._partly = None
        for at, (key, value) in enumerate(zip(keys, batch.values.to_pylist(), strict=True)):
            if at < start:
                continue
            if len(self._waiting) == self._room:
                self._partly = batch, at
                self.check()
                raise PartlySentError(f"{at} of {len(batch)} rows were taken.", sent=at)
            receipt.expect()
            self._waiting.append(_Row(batch.topic, key, value, receipt))

    def check(self) -> None:
        assert self._transaction != "committing", "the producer is used while it commits on another thread"
        self._take(next(self._acknowledged, len(self._waiting)))

    def flush(self, deadline: Deadline) -> None:
        self._kafka.step("flush rows")
        self._take(len(self._waiting))
        if self._waiting:
            raise RetriableError(f"{len(self._waiting)} rows wait for the brokers' acknowledgement.")

    def begin(self) -> None:
        assert self._transaction is None, "a transaction is begun inside another one"
        self._kafka.step("begin")
        self._transaction = "open"

    def commit(self, deadline: Deadline) -> None:
        assert self._transaction == "open", "there is no transaction to commit"
        self._transaction = "committing"
        self._kafka.step("flush rows")
        self._take(len(self._waiting))
        while not self._kafka.commits.is_set():
            if not deadline.wait(_TICK_S):
                raise RetriableError("The transaction's coordinator does not answer.")
        with self._kafka.lock:
            self._kafka.step("commit")
            for row in self._kafka.unfinished:
                self._kafka.written(*row)
            self._kafka.unfinished.clear()
        self._transaction = None
        self._kafka.step("committed")

    def abort(self, deadline: Deadline) -> None:
        assert self._transaction is not None, "there is no transaction to abort"
        self._kafka.step("abort")
        self._waiting.clear()
        self._kafka.unfinished.clear()
        self._transaction = None
        self._kafka.step("aborted")

    def close(self, timeout_s: float = 0.0) -> None:
        self._waiting.clear()

    def _take(self, most: int) -> None:
        for row in [row for row in self._waiting if row.topic not in self._kafka.stuck][:most]:
            self._kafka.step("row")
            self._waiting.remove(row)
            if self._transaction is None:
                self._kafka.written(*row[:3])
            else:
                self._kafka.unfinished.append(row[:3])
            self._kafka.step("row acknowledged")
            row.receipt.acknowledge()


class FakeOffsets:
    """Stands for the `SourceOffsets` of one connector."""

    topic = OFFSETS

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka
        self.copied: list[SourcePosition] = []

    def get(self, partition: Mapping[str, object]) -> dict[str, object] | None:
        return self._kafka.offsets.get(partition_key(partition))

    def store(self, positions: Sequence[SourcePosition], deadline: Deadline) -> None:
        self._kafka.step("store")
        for position in positions:
            self._kafka.offsets[partition_key(position.partition)] = dict(position.offset or {})
        self._kafka.step("stored")

    def key(self, position: SourcePosition) -> bytes:
        return partition_key(position.partition).encode()

    def batch(self, positions: Sequence[SourcePosition]) -> RawBatch:
        values = pa.array([json.dumps(position.offset).encode() for position in positions], pa.binary())
        return RawBatch(OFFSETS, values, keys=pa.array([self.key(position) for position in positions], pa.binary()))

    def close(self) -> None:
        pass

    def copy(self, positions: Sequence[SourcePosition]) -> None:
        self.copied += positions


Rebalance = Callable[["FakeConsumer"], None]


class NoRemarks:
    """Stands for the remarks that a group keeps beside its offsets, if no row was ever missed: there are none."""

    own: Mapping[TopicPartition, str] = MappingProxyType({})

    def committed(self, _partitions: Iterable[TopicPartition], _deadline: Deadline) -> dict[TopicPartition, str]:
        return {}


class FakeConsumer:
    """Stands for a `BatchConsumer` that is the only member of its group. It reads on from the committed offsets.

    `reads` says what each poll does: it is a rebalance, or the number of rows that a poll gives at most of each
    partition. After the last one a poll gives everything, and once that is read `control` is asked to stop.
    """

    trouble: str | None = None

    def __init__(
        self,
        kafka: FakeKafka,
        control: Control,
        log: Mapping[TopicPartition, Sequence[bytes]],
        reads: Iterable[int | Rebalance] = (),
    ) -> None:
        self._kafka = kafka
        self._control = control
        self._log = log
        self._reads = iter(reads)
        self._next: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._is_subscribed = False
        self.remarks = NoRemarks()

    def wake(self) -> None:
        """Do nothing: no poll waits."""

    def subscribe(
        self,
        topics: Sequence[str] | str,
        assigned: Callable[[Collection[TopicPartition]], None],
        revoked: Callable[[Collection[TopicPartition]], None],
        lost: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._callbacks = assigned, revoked, lost

    def poll(self, most: int, deadline: Deadline) -> list[RawBatch]:
        self._kafka.step("poll")
        if not self._is_subscribed:
            self._is_subscribed = True
            self.assign(*self._log)
        read = next(self._reads, None)
        if callable(read):
            read(self)
            return []
        given = [self._read(tp, read) for tp in sorted(self._next) if tp not in self._paused]
        found = [batch for batch in given if len(batch)]
        if read is None and not found and not self._paused:
            self._control.ask_to_stop()
        return found

    def assign(self, *partitions: TopicPartition) -> None:
        """Have the group give these partitions to the task."""
        for tp in partitions:
            self._next[tp] = self._kafka.committed.get(tp, 0)
        self._callbacks[0](list(partitions))

    def revoke(self, *partitions: TopicPartition) -> None:
        """Have the group take these partitions from the task, and wait until the task has released them."""
        self._callbacks[1](list(partitions))
        self._forget(partitions)

    def lose(self, *partitions: TopicPartition) -> None:
        """Have the group take these partitions without waiting for the task."""
        self._forget(partitions)
        self._callbacks[2](list(partitions))

    def commit(self, offsets: Mapping[TopicPartition, int], deadline: Deadline) -> None:
        self._kafka.step("commit")
        assert set(offsets) <= set(self._next), "an offset is committed of a partition that another member may have"
        self._kafka.committed |= offsets
        self._kafka.step("committed")

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._paused |= set(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._paused -= set(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._next[partition] = offset

    def end_offsets(self) -> dict[TopicPartition, int]:
        return {tp: len(self._log[tp]) for tp in self._next}

    def position(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self._next[tp] for tp in partitions}

    def reached_ends(self) -> dict[TopicPartition, int]:
        return {tp: end for tp, end in self.end_offsets().items() if self._next[tp] == end}

    @property
    def fetched(self) -> FakeConsumer:
        """Tell any thread what there is."""
        return self

    def of(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: len(self._log[tp]) for tp in partitions}

    def deleted_unread(self) -> dict[TopicPartition, range]:
        """Return nothing, as this log keeps every row."""
        return {}

    def take_gaps(self) -> list[Gap]:
        """Return no gaps, as this log keeps every row."""
        return []

    def committed(self, partitions: Iterable[TopicPartition], _deadline: Deadline) -> dict[TopicPartition, int]:
        return {tp: self._kafka.committed[tp] for tp in partitions if tp in self._kafka.committed}

    def _forget(self, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            del self._next[tp]

    def _read(self, tp: TopicPartition, most: int | None) -> RawBatch:
        start = self._next[tp]
        rows = self._log[tp][start:][:most]
        self._next[tp] = end = start + len(rows)
        offsets = pa.array(range(start, end), pa.int64())
        values = pa.array(rows, pa.binary())
        return RawBatch(tp.topic, values, partition=tp.partition, offsets=offsets, next_offset=end)
