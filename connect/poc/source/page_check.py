"""Reads a source with pages of two sizes and compares the rows: one that skips ties at the end of a page shows so.

A source has to give the same rows whatever the size of its pages. The key of that size is found by its role.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.lib.deadline import Deadline
from connect.lib.key_role import KeyRole
from connect.runtime.calls.trial_reading import read_batches
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.parts.task_parts import connector_plugin

PART: Final = 3
"""The pages of the second reading are a third as large."""
Rows = Mapping[str, Sequence[bytes]]
"""Hashes of rows in order, by topic."""


@dataclass(slots=True)
class PageComparison:
    """Compares two readings of a source, with two `sizes` of the setting `key`.

    `missing` rows were given by one of the two readings only. `is_steady` says that a third reading with the first size
    gave the same rows again, so that the size is what makes the difference.
    """

    key: str
    sizes: tuple[int, int]
    compared: int
    missing: int
    is_steady: bool = True


def compare_pages(parts: ConnectorParts, rows: int, deadline: Deadline) -> PageComparison | None:
    """Read the first `rows` with pages of two sizes, and a third time where the two readings differ.

    None: the connector has no such key, or the deadline passed.
    """
    plugin = connector_plugin(parts.clients.catalog, parts.resolved)
    definition = next((d for d in plugin.config.definitions() if d.role is KeyRole.PAGE_ROWS), None)
    if definition is None:
        return None
    given = int(parts.resolved.get(definition.name) or definition.default or 1)
    # Of the rows that are read there are two pages at least, so that a page ends among them.
    sizes = (min(given, max(1, rows // 2)), max(1, min(given, rows // 2) // PART))
    if sizes[0] == sizes[1]:
        sizes = (sizes[0], sizes[0] + 1)
    first, second = (_read(parts, definition.name, size, rows, deadline) for size in sizes)
    if deadline.expired:
        return None
    missing = missing_rows(first, second)
    found = PageComparison(definition.name, sizes, sum(map(len, first.values())), missing)
    if missing:
        found.is_steady = not missing_rows(first, _read(parts, definition.name, sizes[0], rows, deadline))
    return found


def missing_rows(left: Rows, right: Rows) -> int:
    """Return how many rows one reading has and the other lacks, within the part that both have come to. Pure."""
    return sum(
        _missing(left.get(topic, ()), right.get(topic, ()))
        for topic in {*left, *right}
        if topic in left and topic in right
    )


def _missing(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    ours, theirs = Counter(_common(left, right)), Counter(_common(right, left))
    return (ours - theirs).total() + (theirs - ours).total()


def _common(rows: Sequence[bytes], others: Sequence[bytes]) -> Sequence[bytes]:
    """Return the rows up to the last one that the others have, too."""
    known = set(others)
    for end in range(len(rows), 0, -1):
        if rows[end - 1] in known:
            return rows[:end]
    return ()


def _read(parts: ConnectorParts, key: str, size: int, rows: int, deadline: Deadline) -> dict[str, list[bytes]]:
    resized = ConnectorParts(parts.clients, {**parts.resolved, key: str(size)})
    found: dict[str, list[bytes]] = {}
    for batch in read_batches(resized, rows, deadline):
        keys = [None] * len(batch) if batch.keys is None else batch.keys.rows()
        hashes = found.setdefault(batch.topic, [])
        for row_key, value in zip(keys, batch.values.rows(), strict=True):
            hashes.append(hashlib.blake2b(repr((row_key, value)).encode(), digest_size=12).digest())
    return found
