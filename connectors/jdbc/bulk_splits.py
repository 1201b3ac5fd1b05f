"""How a table is cut into splits: pure, but for asking the database how large a table is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import sqlalchemy as sa

from connect.api.bulk import Split, SplitSize
from connectors.jdbc.assemble import Assembly
from connectors.jdbc.database import Database
from connectors.jdbc.first_read import FirstRead
from connectors.jdbc.offsets import Offset
from connectors.jdbc.tables import TableName

_DOING = "asking for the size of a table"
_SIZES = {
    "postgresql": "SELECT reltuples::bigint, pg_catalog.pg_table_size(oid) FROM pg_catalog.pg_class "
    "WHERE oid = to_regclass(:quoted)",
    "mysql": "SELECT table_rows, data_length FROM information_schema.tables "
    "WHERE table_schema = :schema AND table_name = :name",
}
_SIZES["mariadb"] = _SIZES["mysql"]


class TableSize(NamedTuple):
    """Estimates; 0 bytes: not known."""

    rows: int
    size_bytes: int


_UNKNOWN = TableSize(0, 0)


@dataclass(frozen=True, slots=True)
class TableSplit:
    """The keys from `begin` on and before `end` of the rows before the mark; None: no limit on that side."""

    table: TableName
    mark: Offset
    begin: int | None
    end: int | None
    size: TableSize = _UNKNOWN
    place: int = 0

    @classmethod
    def of(cls, split: Split) -> TableSplit:
        """What `as_split` wrote."""
        bounds = cast("Any", split.bounds)
        table = TableName(bounds["schema"], bounds["table"])
        return cls(table, bounds["mark"], bounds["from"], bounds["to"])

    @property
    def as_split(self) -> Split:
        """The split of the contract."""
        bounds = {
            "schema": self.table.schema, "table": self.table.name, "mark": dict(self.mark),
            "from": self.begin, "to": self.end,
        }  # fmt: skip
        # No two tables have one id: what is escaped is never NUL, which "-00" would stand for.
        name = "".join(c if c.isascii() and (c.isalnum() or c in "._") else f"-{ord(c):02x}" for c in self.table.full)
        return Split(f"{name}-{self.place:06d}", bounds, self.size.rows, self.size.size_bytes)

    @property
    def first(self) -> FirstRead:
        """The first read that has this split as its range `number`."""
        return FirstRead(self.mark, tuple(cut for cut in (self.begin, self.end) if cut is not None))

    @property
    def number(self) -> int:
        """Which of its ranges."""
        return 0 if self.begin is None else 1


def cut(table: TableName, mark: Offset, keys: range | None, size: TableSize, wanted: SplitSize) -> Sequence[TableSplit]:
    """Ranges of equal width that together have every key; one split where there is no integer key."""
    parts = 1
    if keys is not None:
        parts = max(1, -(-size.rows // wanted.rows), -(-size.size_bytes // wanted.size_bytes))
        parts = min(parts, len_of(keys))
    begin = keys.start if keys is not None else 0
    cuts = [None, *(begin + len_of(keys) * part // parts for part in range(1, parts))] if keys is not None else [None]
    ends = [*cuts[1:], None]
    each = TableSize(-(-size.rows // parts), -(-size.size_bytes // parts))
    return [
        TableSplit(table, mark, low, high, each, place)
        for place, (low, high) in enumerate(zip(cuts, ends, strict=True))
    ]


def len_of(keys: range) -> int:
    """How many keys; len() of a range ends at 63 bits."""
    return keys.stop - keys.start


def table_size(database: Database, assembly: Assembly) -> TableSize:
    """As the catalog estimates it; rows are counted where it cannot say."""
    size = _estimate(database, assembly.table)
    if size.rows <= 0:
        counted = sa.select(sa.func.count()).select_from(assembly.source.relation)
        size = TableSize(int(database.scalar(counted, _DOING)), size.size_bytes)
    database.end_transaction()
    return size


def _estimate(database: Database, table: TableName | None) -> TableSize:
    asked = _SIZES.get(database.dialect_name)
    if asked is None or table is None:
        return _UNKNOWN
    given = {"schema": table.schema, "name": table.name, "quoted": table.quoted}
    wanted = {name: value for name, value in given.items() if f":{name}" in asked}
    rows = database.rows(sa.text(asked).bindparams(**wanted), _DOING)
    if not rows or rows[0][0] is None:
        return _UNKNOWN
    return TableSize(int(rows[0][0]), int(rows[0][1] or 0))
