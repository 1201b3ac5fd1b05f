"""Kafka's topics as a source reads them: one whose rows come from Kafka, and which writes them in transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from connect.api.records import Batch, TopicPartition
from connect.api.state import StateEntry
from connect.lib.deadline import Deadline


class TopicRecord(NamedTuple):
    """Holds one record of a topic as it is there."""

    key: bytes | None
    value: bytes | None
    offset: int


class TopicRecords(Protocol):
    """Reads partition 0 of a topic that tells a source what to do, record by record, outside of any consumer group.

    The topic may be another cluster's. Owned by the thread that polls.
    """

    def begin(self, at: int | None, deadline: Deadline) -> int:
        """Read from an offset on, or from what is nearest to it in the topic; None: from its end.

        Return where that is. RetriableError: the topic is not there, or no broker answers.
        """

    def poll(self, deadline: Deadline) -> Sequence[TopicRecord]:
        """Return what has come since, in order. RetriableError: not now."""


class NoRecords:
    """Provides `TopicRecords` where there is no Kafka."""

    def begin(self, at: int | None, deadline: Deadline) -> int:
        """Return the first offset."""
        del at, deadline
        return 0

    def poll(self, deadline: Deadline) -> Sequence[TopicRecord]:
        """Return nothing."""
        del deadline
        return ()


class SourceTopics(Protocol):
    """Reads topics of the cluster that the task writes to: committed records, outside of any consumer group.

    The offsets are the task's own: it keeps them as source positions, so that in an exactly-once source what was
    read, what came of it and what is remembered (`Batch.state`) are one transaction. Owned by the task thread.
    """

    def partition_counts(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, int]:
        """Return how many partitions each topic has, without topics that do not exist.

        Raise RetriableError when there is no answer.
        """

    def read(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions, and no others, each from an offset on; None: from its first record."""

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next rows of one partition by the connector's converters, with `consumed`; None: not by the
        deadline.

        Records that cannot be converted are given up as `errors.tolerance` says. ConnectError: an offset that was asked
        for is not in the topic any more.
        """

    def make_state(self, topic: str, partitions: int, deadline: Deadline) -> int:
        """Make a compacted topic for `Batch.state` where it is missing; the number of partitions that it has.

        ConfigError: the topic is there and not compacted, or the source is not exactly-once: then state and rows would
        not become durable together.
        """

    def state(self, topic: str, partition: int, deadline: Deadline) -> Iterator[StateEntry]:
        """Return the entries remembered in a partition, each key once or several times, the newest last.

        Raise RetriableError when the partition was not read to the end by the deadline.
        """
