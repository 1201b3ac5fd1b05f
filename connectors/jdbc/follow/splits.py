"""Cuts a table into splits, which are ranges of its key before a mark; `ranges` reads one of them.

Both a first read by tasks and a bulk read by the lanes of a backfill consist of splits. This module asks the database
nothing but how large a table is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import sqlalchemy as sa

from connect.api.optional.bulk import Split, SplitSize
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.follow.offsets import Offset
from connectors.jdbc.settings.table_choice import TableName

_DOING = "asking for the size of a table"


class TableSize(NamedTuple):
    """Holds a table's size in rows and bytes, which are estimates; 0 bytes: the size is not known."""

    rows: int
    size_bytes: int


_UNKNOWN = TableSize(0, 0)


@dataclass(frozen=True, slots=True)
class TableSplit:
    """Holds a split: the rows before the mark with keys from `begin` on and below `end`.

    Either is None if there is no limit on that side.
    """

    table: TableName
    mark: Offset
    begin: int | None
    end: int | None
    size: TableSize = _UNKNOWN
    place: int = 0
    """The split has this number among the splits of its table."""

    @classmethod
    def of(cls, split: Split) -> TableSplit:
        """Return the split that `as_split` wrote."""
        bounds = cast("Any", split.bounds)
        table = TableName(bounds["schema"], bounds["table"])
        return cls(table, bounds["mark"], bounds["from"], bounds["to"])

    @property
    def as_split(self) -> Split:
        """Return the split in the form of the contract."""
        bounds = {
            "schema": self.table.schema, "table": self.table.name, "mark": dict(self.mark),
            "from": self.begin, "to": self.end,
        }  # fmt: skip
        # Two tables never get the same id: no name has NUL, the only character that would be escaped as "-00".
        name = "".join(c if c.isascii() and (c.isalnum() or c in "._") else f"-{ord(c):02x}" for c in self.table.full)
        return Split(f"{name}-{self.place:06d}", bounds, self.size.rows, self.size.size_bytes)

    @property
    def label(self) -> str:
        """Return the split's keys as text, for messages."""
        low = "" if self.begin is None else f" from {self.begin}"
        high = "" if self.end is None else f" before {self.end}"
        return f"its keys{low}{high}" if low or high else "all of its keys"


def split_at(table: TableName, mark: Offset, cuts: Sequence[int], size: TableSize = _UNKNOWN) -> Sequence[TableSplit]:
    """Return the table cut before each of these keys; no key is left out. `size` is the estimated size of each
    split.
    """
    lows, highs = [None, *cuts], [*cuts, None]
    return [
        TableSplit(table, mark, low, high, size, place)
        for place, (low, high) in enumerate(zip(lows, highs, strict=True))
    ]


def divided(split: Split, last: int, end: int, parts: int) -> Sequence[Split]:
    """Return the split up to the key `last`, and its keys from there to before `end` in `parts` ranges of equal width.

    The result is empty if no key is left. The last range also has the split's keys from `end` on.
    """
    rest = range(last + 1, end)
    if not rest:
        return ()
    cuts = [rest.start, *cuts_of(rest, min(parts, len_of(rest)))]
    lows, highs = [split.bounds["from"], *cuts], [*cuts, split.bounds["to"]]
    ids = [split.id, *(f"{split.id}.{place}" for place in range(1, len(lows)))]
    return [
        replace(split, id=name, bounds={**split.bounds, "from": low, "to": high})
        for name, low, high in zip(ids, lows, highs, strict=True)
    ]


def cuts_of(keys: range, parts: int) -> tuple[int, ...]:
    """Return the keys that divide `keys` into `parts` ranges of equal width."""
    return tuple(keys.start + len_of(keys) * part // parts for part in range(1, parts))


def cut(table: TableName, mark: Offset, keys: range | None, size: TableSize, wanted: SplitSize) -> Sequence[TableSplit]:
    """Cut the table into ranges of equal width that together have every key; one split without an integer key."""
    parts = 1
    if keys is not None:
        parts = max(1, -(-size.rows // wanted.rows), -(-size.size_bytes // wanted.size_bytes))
        parts = min(parts, len_of(keys))
    each = TableSize(-(-size.rows // parts), -(-size.size_bytes // parts))
    return split_at(table, mark, () if keys is None else cuts_of(keys, parts), each)


def len_of(keys: range) -> int:
    """Return the number of keys. It is used instead of len(), which fails for ranges above 63 bits."""
    return keys.stop - keys.start


def table_size(database: Database, table: TableName | None, relation: sa.FromClause) -> TableSize:
    """Return the size of a table as the catalog estimates it; rows are counted where it cannot say."""
    size = _estimate(database, table)
    if size.rows <= 0:
        counted = sa.select(sa.func.count()).select_from(relation)
        size = TableSize(int(database.scalar(counted, _DOING)), size.size_bytes)
    database.end_transaction()
    return size


def _estimate(database: Database, table: TableName | None) -> TableSize:
    asked = database.dialect.catalog.size
    if not asked or table is None:
        return _UNKNOWN
    given = {"schema": table.schema, "name": table.name, "quoted": table.quoted}
    wanted = {name: value for name, value in given.items() if f":{name}" in asked}
    rows = database.rows(sa.text(asked).bindparams(**wanted), _DOING)
    if not rows or rows[0][0] is None:
        return _UNKNOWN
    return TableSize(int(rows[0][0]), int(rows[0][1] or 0))
