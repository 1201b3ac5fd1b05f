"""Writes and reads the gaps of the last day in the metadata of committed offsets, for a partition's next owner."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from connect.api.records import TopicPartition
from connect.kafka.consume.gaps import Gap

RECENT_S: Final = 86_400.0
"""A gap is reported for so many seconds."""
_MOST: Final = 16
"""So many gaps of a partition are kept, as a broker takes 4096 bytes of metadata (offset.metadata.max.bytes)."""
_KEY: Final = "missed_rows"


class RecentGap(NamedTuple):
    """Holds a gap and when it was found, in epoch seconds."""

    at_s: float
    gap: Gap


def remark(recent: Collection[RecentGap], partition: TopicPartition) -> str | None:
    """Return metadata for a commit that holds the newest gaps of a partition; None if it has no gaps."""
    own = [found for found in recent if found.gap.partition == partition][-_MOST:]
    if not own:
        return None
    return json.dumps({_KEY: [_entry(found) for found in own]}, separators=(",", ":"))


def gaps_of(partition: TopicPartition, text: str) -> list[RecentGap]:
    """Return the gaps that a commit's metadata holds. Metadata of others, as of a tool that set offsets, has none."""
    try:
        kept = json.loads(text)[_KEY]
        return list(_gaps(partition, kept))
    except (ValueError, TypeError, KeyError):
        return []


def _entry(found: RecentGap) -> list[float | int | str]:
    at_s, gap = found
    return [round(at_s), gap.offset, gap.log_start, gap.log_end, gap.reads_on_at, gap.policy]


def _gaps(partition: TopicPartition, kept: Any) -> Iterator[RecentGap]:
    for at_s, offset, log_start, log_end, reads_on_at, policy in kept:
        gap = Gap(partition, int(offset), int(log_start), int(log_end), int(reads_on_at), str(policy))
        yield RecentGap(float(at_s), gap)
