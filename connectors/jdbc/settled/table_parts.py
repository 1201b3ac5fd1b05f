"""Tells which table of PostgreSQL has a name, and which tables have become parts of it since a snapshot.

A row names the transaction that wrote it. If a table is attached as a partition, inherits from another one, or takes
the name of another one, its rows appear although their transactions ended before. So this is watched beside the rows.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import OID

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settled.snapshots import Snapshot, ended_after, ended_by

_DOING: Final = "asking for the parts of a table"


class Parts(NamedTuple):
    """Holds the oid of the table that has the name, and those of the tables that have become parts of it.

    `oid` is None if no table has the name.
    """

    oid: int | None
    attached: tuple[int, ...] = ()


class TableParts:
    """Asks for the parts of one table. Stateless."""

    def __init__(self, quoted: str, tableoid: sa.ColumnElement[Any]) -> None:
        """Take the table's name in quotes, and the column that tells of which part a row is."""
        self._named = sa.cast(sa.func.to_regclass(quoted), OID)
        self._tableoid = tableoid

    def now(self, database: Database, ended: Snapshot | None, running: Snapshot) -> Parts:
        """Return the table and the parts that it got by transactions of `running` that are not of `ended`.

        The transaction that sees `running` must be open.
        """
        links = sa.table(
            "pg_inherits", sa.column("inhrelid"), sa.column("inhparent"), sa.column("xmin"), schema="pg_catalog"
        )
        is_new: sa.ColumnElement[bool] = sa.false()
        if ended is not None:
            is_new = sa.and_(ended_after(ended, links.c.xmin), ended_by(running, links.c.xmin))
        parts = sa.select(self._named.label("oid"), sa.false().label("is_new")).cte("parts", recursive=True)
        below = sa.select(links.c.inhrelid, sa.or_(parts.c.is_new, is_new)).where(links.c.inhparent == parts.c.oid)
        parts = parts.union_all(below)
        wanted = sa.select(parts.c.oid, parts.c.is_new).where(sa.or_(parts.c.is_new, parts.c.oid == self._named))
        found = [(int(oid), bool(new)) for oid, new in database.rows(wanted, _DOING)]
        return Parts(
            next((oid for oid, new in found if not new), None), tuple(sorted(oid for oid, new in found if new))
        )

    def rows_of(self, parts: Parts) -> sa.ColumnElement[bool]:
        """Return the condition for the rows of the parts that were attached."""
        return self._tableoid.in_([sa.literal_column(f"{oid}::oid") for oid in parts.attached])
