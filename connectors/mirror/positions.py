"""Names places in the source's partitions as MirrorMaker stores them, so that connectors move with their offsets. Pure.

A stored offset is that of the last record that was copied, not the next one.
"""

from __future__ import annotations

from collections.abc import Mapping

from connect.api.errors import ConnectError
from connect.api.optional.given_offsets import PARTITION, whole_number
from connect.api.records import SourcePosition, TopicPartition

CLUSTER, OFFSET, TOPIC = "cluster", "offset", "topic"


def partition_of(cluster: str, place: TopicPartition) -> dict[str, object]:
    """Return the source partition that stands for a partition of the source cluster."""
    return {CLUSTER: cluster, PARTITION: place.partition, TOPIC: place.topic}


def position(cluster: str, place: TopicPartition, copied: int) -> SourcePosition:
    """Return the position behind a record that was copied."""
    return SourcePosition(partition_of(cluster, place), {OFFSET: copied})


def next_offset(stored: Mapping[str, object] | None, place: TopicPartition) -> int | None:
    """Return the offset to read on at; None: nothing was copied yet. ConnectError: what is stored is no offset."""
    if stored is None:
        return None
    found = stored.get(OFFSET)
    if isinstance(found, bool) or not isinstance(found, int) or found < -1:
        raise ConnectError(
            f"The stored offset of {place.topic}-{place.partition} is of type {type(found).__name__}, no whole number.",
            fix="Set it by PATCH /connectors/NAME/offsets, or reset it.",
        )
    return None if found < 0 else found + 1


def broken_members(partition: Mapping[str, object], offset: Mapping[str, object]) -> dict[str, str]:
    """Return what is wrong with an offset that a person gives; see `require_usable`."""
    is_named = all(isinstance(partition.get(name), str) for name in (CLUSTER, TOPIC))
    number = whole_number(partition.get(PARTITION))
    return {
        PARTITION: "" if is_named and not number else "must have cluster and topic as texts and partition as a number",
        OFFSET: whole_number(offset.get(OFFSET)),
    }
