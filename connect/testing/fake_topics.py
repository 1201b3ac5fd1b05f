"""Keeps Kafka's topics in memory, for tests of sources that read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.api.state import StateEntries, StateEntry
from connect.api.topics import TopicRecord
from connect.lib.deadline import Deadline


@dataclass
class FakeTopics:
    """Provides `SourceTopics` over lists of schemaless values. It outlives the tasks of a test, as Kafka does.

    `rows` holds keys and values of each partition. A batch has at most `batch_rows` rows.
    """

    rows: dict[TopicPartition, list[tuple[Any, Any]]] = field(default_factory=dict)
    states: dict[TopicPartition, list[StateEntry]] = field(default_factory=dict)
    state_partitions: dict[str, int] = field(default_factory=dict)
    batch_rows: int = 100
    places: dict[TopicPartition, int] = field(default_factory=dict)

    def partition_counts(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, int]:
        """Return the number of partitions of each of these topics that has rows."""
        del deadline
        return {t: 1 + max(p.partition for p in self.rows if p.topic == t) for t in topics
                if any(p.topic == t for p in self.rows)}  # fmt: skip

    def read(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Go to these offsets, or to the beginning of a partition where there is none."""
        self.places = {place: start or 0 for place, start in starts.items()}

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next rows of the first partition that has any."""
        del deadline
        for place, start in self.places.items():
            found = self.rows.get(place, [])[start : start + self.batch_rows]
            if found:
                end = self.places[place] = start + len(found)
                consumed = Consumed(place, pa.array(range(start, end), pa.int64()), end)
                keys, values = (Column.from_rows(list(column), None) for column in zip(*found, strict=True))
                return Batch(place.topic, values, keys=keys, partition=place.partition, consumed=consumed)
        return None

    def make_state(self, topic: str, partitions: int, deadline: Deadline) -> int:
        """Create the state topic, unless it is there."""
        del deadline
        return self.state_partitions.setdefault(topic, partitions)

    def state(
        self, topic: str, partition: int, deadline: Deadline, *, committed_only: bool = False
    ) -> Iterator[StateEntry]:
        """Yield all entries that were committed."""
        del deadline, committed_only
        yield from self.states.get(TopicPartition(topic, partition), [])

    def commit(self, entries: StateEntries | None) -> None:
        """Keep the state of a batch that was committed."""
        if entries is not None:
            self.states.setdefault(TopicPartition(entries.topic, entries.partition), []).extend(entries.entries)


@dataclass
class FakeTopicRecords:
    """Provides `TopicRecords` over the keys and values, texts or bytes, of partition 0 of one topic."""

    topics: FakeTopics
    topic: str
    place: int = 0

    def begin(self, at: int | None, deadline: Deadline) -> int:
        """Go to an offset, or to the end. RetriableError: the topic has no rows."""
        del deadline
        if TopicPartition(self.topic, 0) not in self.topics.rows:
            raise RetriableError(f"Topic {self.topic} does not exist.")
        end = len(self.topics.rows[TopicPartition(self.topic, 0)])
        self.place = end if at is None else min(at, end)
        return self.place

    def poll(self, deadline: Deadline) -> Sequence[TopicRecord]:
        """Return the rows that are new."""
        del deadline
        rows = self.topics.rows.get(TopicPartition(self.topic, 0), [])[self.place :]
        found = [TopicRecord(_octets(key), _octets(value), self.place + n) for n, (key, value) in enumerate(rows)]
        self.place += len(found)
        return found


def _octets(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
