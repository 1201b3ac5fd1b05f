"""Two runs of a source on the same data, compared row by row: lost, duplicate, changed, out of order. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from connect.evaluate.topic_rows import PartitionRows, TopicRows


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows of the disturbed run against those of the undisturbed one.

    `changed`: rows whose key was there with another value only. `reordered`: rows that came after a later one of their
    partition. Topics of the two runs are matched by what follows their run's prefix.
    """

    expected: int
    found: int
    lost: int
    duplicate: int
    changed: int
    reordered: int

    @property
    def is_exact(self) -> bool:
        """Each row once, unchanged and in order."""
        return not (self.lost or self.duplicate or self.changed or self.reordered)


def compare(expected: TopicRows, found: TopicRows) -> Comparison:
    """Compare the rows; a row that is expected n times may come n times."""
    wanted = Counter(row for part in expected.partitions.values() for row in part.rows)
    present = Counter(row for part in found.partitions.values() for row in part.rows)
    missing = wanted - present
    extra = present - wanted
    foreign = sum(count for row, count in extra.items() if row not in wanted)
    changed = min(foreign, _keyed(expected, missing))
    return Comparison(
        expected=wanted.total(),
        found=present.total(),
        lost=missing.total() - changed,
        duplicate=extra.total() - foreign,
        changed=changed,
        reordered=_reordered(expected, found),
    )


def as_far_as(expected: TopicRows, found: TopicRows) -> TopicRows:
    """The expected rows of each partition as far as the last one that was found: what a run that was ended early came
    to. A row that is missing before that one is lost all the same.
    """
    present = {row for part in found.partitions.values() for row in part.rows}
    cut = {}
    for place, part in expected.partitions.items():
        end = next((i for i in range(len(part.rows), 0, -1) if part.rows[i - 1] in present), 0)
        cut[place] = PartitionRows(part.rows[:end], part.keys[:end])
    return TopicRows(cut)


def _keyed(rows: TopicRows, missing: Counter[bytes]) -> int:
    """How many of the missing rows have a key, so that a row of another value can be told as the same one."""
    return sum(
        1
        for part in rows.partitions.values()
        for row, key in zip(part.rows, part.keys, strict=True)
        if key and row in missing
    )


def _reordered(expected: TopicRows, found: TopicRows) -> int:
    """Rows behind a later one of their partition, first appearances only: what came twice is not out of order."""
    places = {row: place for part in expected.partitions.values() for place, row in enumerate(part.rows)}
    return sum(_descents(places, part) for part in found.partitions.values())


def _descents(places: dict[bytes, int], part: PartitionRows) -> int:
    seen: set[bytes] = set()
    latest, count = -1, 0
    for row in part.rows:
        place = places.get(row)
        if place is None or row in seen:
            continue
        seen.add(row)
        count += place < latest
        latest = max(latest, place)
    return count
