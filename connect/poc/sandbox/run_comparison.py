"""Compares two runs of a source on the same data, row by row, for rows lost, doubled, changed or out of order. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from connect.poc.sandbox.topic_rows import PartitionRows, TopicRows


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tells how the rows of the disturbed run differ from those of the undisturbed one.

    `changed` counts rows whose key came with another value only. `invented` counts rows that the undisturbed run never
    had and that are no changed form of one of its rows. `reordered` counts rows that came after a later row of their
    partition. The runs prefix their topics' names; topics with the same name behind the prefix are compared.
    """

    expected: int
    found: int
    lost: int
    duplicate: int
    changed: int
    invented: int
    reordered: int

    @property
    def is_exact(self) -> bool:
        """Return True if each row came once, unchanged and in order, and no other row came."""
        return not (self.lost or self.duplicate or self.changed or self.invented or self.reordered)


def compare(expected: TopicRows, found: TopicRows, *, later: TopicRows | None = None) -> Comparison:
    """Compare the rows. A row that is expected n times may come n times.

    `later` is an undisturbed run that was made after the other two. Rows that it also has were written to the source
    meanwhile, so they are not invented. Rows that it has with another value only were changed there, so they are not
    lost.
    """
    since = TopicRows() if later is None else later
    known = _all_rows(since)
    wanted = _all_rows(expected)
    present = _all_rows(found)
    missing = wanted - present - _replaced(expected, since)
    extra = present - wanted
    foreign = Counter({row: count for row, count in extra.items() if row not in wanted})
    strange = Counter({row: count for row, count in foreign.items() if row not in known})
    changed = (_keys(found, strange) & _keys(expected, missing)).total()
    return Comparison(
        expected=wanted.total(),
        found=present.total(),
        lost=missing.total() - changed,
        duplicate=extra.total() - foreign.total(),
        changed=changed,
        invented=strange.total() - changed,
        reordered=_reordered(expected, found),
    )


def as_far_as(rows: TopicRows, other: TopicRows) -> TopicRows:
    """Return the rows of each partition up to the last one that the other run has too.

    If one of two runs was ended early, the two can be compared up to there. A row that is missing before that place
    still counts as lost.
    """
    present = _all_rows(other)
    cut = {}
    for place, part in rows.partitions.items():
        end = next((i for i in range(len(part.rows), 0, -1) if part.rows[i - 1] in present), 0)
        cut[place] = PartitionRows(part.rows[:end], part.keys[:end])
    return TopicRows(cut)


def _all_rows(rows: TopicRows) -> Counter[bytes]:
    return Counter(row for part in rows.partitions.values() for row in part.rows)


def _keys(rows: TopicRows, chosen: Counter[bytes]) -> Counter[bytes]:
    """Return the keys of the chosen rows. Rows without a key are left out, as nothing tells them from other rows."""
    left, keys = Counter(chosen), Counter[bytes]()
    for part in rows.partitions.values():
        for row, key in zip(part.rows, part.keys, strict=True):
            if key and left[row] > 0:
                left[row] -= 1
                keys[key] += 1
    return keys


def _replaced(rows: TopicRows, later: TopicRows) -> Counter[bytes]:
    """Return the rows that a later run has with another value only: they were changed in the source."""
    values = {row for part in later.partitions.values() for row in part.rows}
    keys = {key for part in later.partitions.values() for key in part.keys if key}
    return Counter(
        row
        for part in rows.partitions.values()
        for row, key in zip(part.rows, part.keys, strict=True)
        if key in keys and row not in values
    )


def _reordered(expected: TopicRows, found: TopicRows) -> int:
    """Count the rows that come after a later row of their partition.

    Only the first time that a row comes counts: a row that comes twice is not out of order.
    """
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
