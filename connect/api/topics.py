"""Defines how a source reads Kafka's topics, if its rows come from Kafka."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from connect.api.records import Batch, TopicPartition
from connect.api.state import StateEntry
from connect.lib.deadline import Deadline


class TopicRecord(NamedTuple):
    """Holds one record of a topic, with its bytes as they are in Kafka."""

    key: bytes | None
    value: bytes | None
    offset: int


class TopicRecords(Protocol):
    """Reads partition 0 of a topic that tells a source what to do, record by record, outside of any consumer group.

    The topic may be another cluster's. The thread that polls owns this object.
    """

    def begin(self, at: int | None, deadline: Deadline) -> int:
        """Read from an offset on, or from the nearest one that the topic still has; if `at` is None, from the topic's
        end.

        Return the offset at which reading begins. RetriableError: the topic is not there, or no broker answers.
        """

    def poll(self, deadline: Deadline) -> Sequence[TopicRecord]:
        """Return the records that have come since the last call, in order. RetriableError: Kafka cannot be read now."""


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
    """Reads committed records of topics of the cluster that the task writes to, outside of any consumer group.

    The task keeps the offsets itself, as source positions. So in an exactly-once source one transaction has the offsets
    that were read, the rows that came of them, and what is remembered (`Batch.state`). The task thread owns this
    object.
    """

    def partition_counts(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, int]:
        """Return how many partitions each topic has, without topics that do not exist.

        Raise RetriableError when there is no answer.
        """

    def read(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions and no others from now on, each from its offset, or from its first record if the offset
        is None.
        """

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next rows of one partition, decoded by the connector's converters, with `consumed`. Return None if
        no rows came by the deadline.

        Records that cannot be converted are given up as `errors.tolerance` says. ConnectError: an offset that was asked
        for is not in the topic any more.
        """

    def make_state(self, topic: str, partitions: int, deadline: Deadline) -> int:
        """Make a compacted topic for `Batch.state` if it is missing, and return the number of its partitions.

        ConfigError: the topic is there and not compacted, or the source is not exactly-once: then state and rows would
        not become durable together.
        """

    def state(
        self, topic: str, partition: int, deadline: Deadline, *, committed_only: bool = False
    ) -> Iterator[StateEntry]:
        """Return the entries remembered in a partition, each key once or several times, the newest last.

        Raise RetriableError when the partition was not read to the end in time. A transaction that is open in it is
        waited for until the deadline, as later entries cannot be read before it ends. With `committed_only` nothing is
        waited for, and entries behind an open transaction are left out: a task whose own transaction may be open asks
        so, as it could not end it meanwhile.
        """
