"""Reads a source with two page sizes and compares the rows. So a source is found that skips rows with equal cursor
values at the end of a page.

A source has to give the same rows whatever the size of its pages. The key that sets the size is found by its role.
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
"""The pages of the second reading have a third of the rows."""
Rows = Mapping[str, Sequence[bytes]]
"""Holds hashes of rows in order, by topic."""


@dataclass(slots=True)
class PageComparison:
    """Compares two readings of a source, with two values `sizes` of the setting `key`.

    `missing` counts rows that only one of the two readings gave. `is_steady` says that a third reading with the first
    size gave the same rows as the first, so that the size makes the difference.
    """

    key: str
    sizes: tuple[int, int]
    compared: int
    missing: int
    is_steady: bool = True


def compare_pages(parts: ConnectorParts, rows: int, deadline: Deadline) -> PageComparison | None:
    """Read the first `rows` with pages of two sizes, and a third time if the two readings differ.

    Return None if the connector has no such key, or if the deadline passed.
    """
    plugin = connector_plugin(parts.clients.catalog, parts.resolved)
    definition = next((d for d in plugin.config.definitions() if d.role is KeyRole.PAGE_ROWS), None)
    if definition is None:
        return None
    given = int(parts.resolved.get(definition.name) or definition.default or 1)
    # The rows that are read fill at least two pages, so that a page ends among them.
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
    """Return how many rows only one of two readings has, within the part that both have reached. Pure."""
    return sum(
        _missing(left.get(topic, ()), right.get(topic, ()))
        for topic in {*left, *right}
        if topic in left and topic in right
    )


def _missing(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    ours, theirs = Counter(_common(left, right)), Counter(_common(right, left))
    return (ours - theirs).total() + (theirs - ours).total()


def _common(rows: Sequence[bytes], others: Sequence[bytes]) -> Sequence[bytes]:
    """Return the rows up to the last one that is also among the others."""
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
