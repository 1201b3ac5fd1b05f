"""Turns messages of confluent_kafka into columns, with one pass per member over a whole poll, mostly in C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, Message

from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch

NO_OFFSET: Final = -1001
"""librdkafka has this value where there is no offset."""
# The stubs allow None everywhere, but only messages that carry an error have it.
_topic: Callable[[Message], str] = Message.topic  # type: ignore[assignment]  # the stubs allow None, which only messages with an error have
_partition: Callable[[Message], int] = Message.partition  # type: ignore[assignment]  # the stubs allow None, which only messages with an error have
_offset: Callable[[Message], int] = Message.offset  # type: ignore[assignment]  # the stubs allow None, which only messages with an error have


class SizeGuess:
    """Estimates how many records fit into a number of bytes, from the size of those that came."""

    def __init__(self, budget_bytes: int, record_bytes: float = 16_384.0) -> None:
        self._budget_bytes = budget_bytes
        self._record_bytes = record_bytes

    def records(self, most: int) -> int:
        """Return how many records fit: at most `most`, at least 1."""
        return max(1, min(most, int(self._budget_bytes / self._record_bytes)))

    def learn(self, batches: Sequence[RawBatch]) -> None:
        """Learn from the size of these records: larger ones count at once, smaller ones bit by bit."""
        count = sum(map(len, batches))
        if count:
            seen = max(64.0, sum(b.size_bytes for b in batches) / count)
            self._record_bytes = max(seen, (self._record_bytes + seen) / 2)


class ReadError(NamedTuple):
    """Holds an error that came in place of a record. Without a place `partition` is None and `offset` negative."""

    error: KafkaError
    partition: TopicPartition | None
    offset: int


class PolledBatches(NamedTuple):
    """Holds one batch per partition, in the order of their first record, and the errors and ends that came between.

    `ends` are the offsets behind all readable records of partitions whose end was reached with these batches.
    """

    batches: Sequence[RawBatch]
    errors: Sequence[ReadError]
    ends: Mapping[TopicPartition, int]


def polled_batches(messages: list[Message]) -> PolledBatches:
    """Return the batches, errors and ends that messages of confluent_kafka hold."""
    errors: list[ReadError] = []
    ends: dict[TopicPartition, int] = {}
    if any(error is not None for error in map(Message.error, messages)):
        for message in messages:
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own code
                ends[TopicPartition(_topic(message), _partition(message))] = _offset(message)
            elif error is not None:
                errors.append(_read_error(error, message))
        messages = [m for m in messages if m.error() is None]
    batches = [_batch(topic, partition, rows) for (topic, partition), rows in _by_partition(messages).items()]
    return PolledBatches(batches, errors, ends)


def _read_error(error: KafkaError, message: Message) -> ReadError:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    place = None if topic is None or partition is None or partition < 0 else TopicPartition(topic, partition)
    return ReadError(error, place, NO_OFFSET if offset is None else offset)


def _by_partition(messages: list[Message]) -> dict[tuple[str, int], list[Message]]:
    """Group messages by partition. librdkafka gives long runs of one partition, so only their edges are looked for."""
    if not messages:
        return {}
    places = list(zip(map(_topic, messages), map(_partition, messages), strict=True))
    edges = [0, *(i for i, (a, b) in enumerate(pairwise(places), 1) if a != b), len(messages)]
    groups: dict[tuple[str, int], list[Message]] = {}
    for start, stop in pairwise(edges):
        groups.setdefault(places[start], []).extend(messages[start:stop])
    return groups


def _batch(topic: str, partition: int, rows: list[Message]) -> RawBatch:
    import pyarrow as pa

    keys = list(map(Message.key, rows))
    headers: list[Any] = list(map(Message.headers, rows))
    offsets = list(map(_offset, rows))
    return RawBatch(
        topic=topic,
        values=_binary(list(map(Message.value, rows))),
        keys=_binary(keys) if any(k is not None for k in keys) else None,
        headers=[h or () for h in headers] if any(headers) else None,
        timestamps_ms=pa.array([ms if kind else None for kind, ms in map(Message.timestamp, rows)], pa.int64()),
        partition=partition,
        offsets=pa.array(offsets, pa.int64()),
        next_offset=offsets[-1] + 1,
    )


def _binary(values: list[bytes | None]) -> Any:
    import pyarrow as pa

    # It is never chunked, as a poll is bounded far below the 2 GB of one binary array.
    return pa.array(values, pa.binary())
