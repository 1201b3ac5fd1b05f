"""Reads the topics of a run: a hash of every committed record, in order, and the number of bytes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

_HASH_BYTES: Final = 12
"""A hash of 96 bits is long enough: of a million different rows, two have the same hash in one of 10^16 runs."""


@dataclass(slots=True)
class PartitionRows:
    """Holds a partition's rows in order: for each the hash of its key and value, and the hash of its key alone.

    The second one is empty for a row without a key.
    """

    rows: list[bytes] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class TopicRows:
    """Holds the rows of several topics."""

    partitions: dict[TopicPartition, PartitionRows] = field(default_factory=dict)
    size_bytes: int = 0
    samples: dict[str, RawBatch] = field(default_factory=dict)
    """Holds the first records of each topic."""

    @property
    def count(self) -> int:
        """Return the number of all rows."""
        return sum(len(found.rows) for found in self.partitions.values())

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each topic."""
        counts: Counter[str] = Counter()
        for partition, found in self.partitions.items():
            counts[partition.topic] += len(found.rows)
        return dict(counts)


def ends_of(
    admin: TopicAdmin, topics: Sequence[str], deadline: Deadline, *, committed_only: bool = False
) -> dict[TopicPartition, int]:
    """Return the next offset of each partition of these topics; topics that do not exist are left out.

    With `committed_only` it is the end of the records that no open transaction holds back.
    """
    counts = admin.partition_counts(topics, deadline)
    partitions = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    return dict(admin.end_offsets(partitions, deadline, committed_only=committed_only)) if partitions else {}


def read_rows(
    settings: Mapping[str, str | int | float | bool],
    ends: Mapping[TopicPartition, int],
    prefix: str,
    deadline: Deadline,
) -> TopicRows:
    """Read all committed rows before these ends. `prefix` stands before the names of the run's topics, and is
    removed.
    """
    found = TopicRows({tp: PartitionRows() for tp in ends})
    for raw in read_spans(settings, {tp: OffsetRange(0, end) for tp, end in ends.items()}, deadline):
        part = found.partitions[TopicPartition(raw.topic, raw.partition or 0)]
        found.size_bytes += raw.size_bytes
        found.samples.setdefault(raw.topic, raw)
        topic = raw.topic.removeprefix(prefix).encode()
        keys = [None] * len(raw) if raw.keys is None else raw.keys.to_pylist()
        for key, value in zip(keys, raw.values.to_pylist(), strict=True):
            part.keys.append(b"" if key is None else _hash(topic, key))
            part.rows.append(_hash(topic, key or b"", b"\0" if value is None else b"\1" + value))
    return found


def _hash(*parts: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
