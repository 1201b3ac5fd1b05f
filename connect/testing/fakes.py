"""Provides contexts and an offset store without Kafka.

They keep what a task told them, and hold it to the contract.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from connect.api.codec import AvroValues
from connect.api.connector import TransactionContext
from connect.api.records import Batch, Record, SourcePosition, TopicPartition
from connect.api.schema import Schema
from connect.lib.deadline import Deadline
from connect.testing.fake_topics import FakeTopicRecords, FakeTopics

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


def _check_primitive(value: object, where: str) -> None:
    match value:
        case None | bool() | str() | float():
            return
        case int():
            assert LONG_MIN <= value <= LONG_MAX, f"{where} is {value}: a stored offset holds integers of 64 bits."
        case _:
            raise AssertionError(f"{where} is a {type(value).__name__}: a stored offset holds JSON primitives only.")


def to_stored(value: Mapping[str, object], where: str) -> str:
    """Return the text kept in the offsets topic. AssertionError names the member that is no JSON primitive."""
    for name, member in value.items():
        assert isinstance(name, str), f"{where} has the key {name!r}: keys of a stored offset are text."
        _check_primitive(member, f"{where}.{name}")
    return json.dumps(value, sort_keys=True, allow_nan=False)


@dataclass
class OffsetStore:
    """Keeps source offsets in memory, through the same JSON text as the offsets topic keeps."""

    offsets: dict[str, str | None] = field(default_factory=dict)

    def store(self, positions: Sequence[SourcePosition]) -> None:
        """Keep the offset of each position; a later one of the same partition wins."""
        for position in positions:
            partition = to_stored(position.partition, "position.partition")
            offset = None if position.offset is None else to_stored(position.offset, "position.offset")
            self.offsets[partition] = offset

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return the offset of this partition as it comes back from the store."""
        text = self.offsets.get(to_stored(partition, "partition"))
        return None if text is None else dict(json.loads(text))

    def positions(self) -> list[SourcePosition]:
        """Return all positions as they come back from the store."""
        return [SourcePosition(json.loads(p), json.loads(o)) for p, o in self.offsets.items() if o is not None]

    def copy(self) -> OffsetStore:
        """Return a store that starts from what this one holds."""
        return OffsetStore(dict(self.offsets))


@dataclass
class FakeTaskContext:
    """Answers what every task may ask. Gauges are kept by name, and what was said last of work that waits."""

    connector: str = "under-test"
    task: int = 0
    gauges: dict[str, float] = field(default_factory=dict)
    explained: str | None = None
    waiting_for: str | None = None
    noted: tuple[str, ...] = ()

    def gauge(self, name: str, value: float | None) -> None:
        """Keep the last value; None: forget it."""
        self.gauges.pop(name, None)
        if value is not None:
            self.gauges[name] = value

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Keep the last reason, one line or None."""
        assert reason is None or (reason.strip() and "\n" not in reason), f"{reason!r} is not one line for people."
        self.explained, self.waiting_for = reason, waiting_for

    def note(self, notes: Sequence[str]) -> None:
        """Keep the last notes, one line each."""
        assert all(note.strip() and "\n" not in note for note in notes), f"{notes!r} are not lines for people."
        self.noted = tuple(notes)


class Rejected(NamedTuple):
    """Holds a row that a plug-in has given up, and why."""

    record: Record
    reason: Exception


def rejected_of(batch: Batch, rows: Mapping[int, Exception]) -> list[Rejected]:
    """Return the rows of a batch that a plug-in gave up."""
    assert rows, "reject was called without a row."
    beyond = [i for i in rows if not 0 <= i < len(batch)]
    assert not beyond, f"reject names the rows {beyond} of a batch of {len(batch)}."
    records = batch.rows()
    return [Rejected(records[i], reason) for i, reason in rows.items()]


@dataclass
class FakeSourceContext(FakeTaskContext):
    """Serves as a SourceContext over an OffsetStore; it keeps the rejected rows."""

    store: OffsetStore = field(default_factory=OffsetStore)
    transactions: TransactionContext | None = None
    rejected: list[Rejected] = field(default_factory=list)
    caught_up_s: float | None = None
    is_behind: bool = False
    kafka: FakeTopics = field(default_factory=FakeTopics)
    bell: threading.Event = field(default_factory=threading.Event)
    """It rings when the task wakes its own poll."""

    def topics(self) -> FakeTopics:
        """Return the topics that this context keeps in memory."""
        return self.kafka

    def records_of(self, topic: str, client: Mapping[str, str], prefix: str) -> FakeTopicRecords:
        """Return the records of a topic that this context keeps in memory."""
        del client, prefix
        return FakeTopicRecords(self.kafka, topic)

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return the offset last stored for this partition."""
        return self.store.stored_offset(partition)

    def stored_positions(self) -> Sequence[SourcePosition]:
        """Return all positions that are stored."""
        return self.store.positions()

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Keep the rows and their reasons."""
        self.rejected.extend(rejected_of(batch, rows))

    def wake(self) -> None:
        """Ring the bell; a poll whose deadline has it as its `stop` ends then."""
        self.bell.set()

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Keep up to which time (seconds since 1970) the source has given all, and if it has more."""
        assert math.isfinite(at_s), f"caught_up was told {at_s!r}: epoch seconds are finite."
        self.caught_up_s, self.is_behind = at_s, behind


@dataclass
class FakeSinkContext(FakeTaskContext):
    """A SinkContext that keeps the rejected rows, counts the requests to flush, and keeps how soon the last was."""

    rejected: list[Rejected] = field(default_factory=list)
    flush_requests: int = 0
    flush_within_s: float | None = None
    topic_ids: dict[str, str | None] = field(default_factory=dict)
    records: Callable[[TopicPartition, int, int], bool] = lambda *_: True
    lost: set[TopicPartition] = field(default_factory=set)
    avro_values: Callable[[Schema, Mapping[str, str]], AvroValues] | None = None

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Keep the rows and their reasons."""
        self.rejected.extend(rejected_of(batch, rows))

    def request_flush(self, within_s: float = 0.0) -> None:
        """Count the request."""
        assert within_s >= 0, f"request_flush was asked for a flush {-within_s} s ago."
        self.flush_requests += 1
        self.flush_within_s = within_s

    def topic_id(self, topic: str, deadline: Deadline) -> str | None:  # noqa: ARG002 - nobody is asked
        """Return one of `topic_ids`, else the topic's name: each name is one log."""
        return self.topic_ids.get(topic, topic)

    def has_record(self, partition: TopicPartition, offset: int, timestamp_ms: int, deadline: Deadline) -> bool:  # noqa: ARG002 - nobody is asked
        """Return what `records` says; by default each partition has every record."""
        return self.records(partition, offset, timestamp_ms)

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:  # noqa: ARG002 - nobody is asked
        """Return True, except for the partitions of `lost`."""
        return partition not in self.lost

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """Return the encoder by `avro_values`, which a test of Avro files gives."""
        assert self.avro_values is not None, "give FakeSinkContext(avro_values=...)"
        return self.avro_values(schema, properties)
