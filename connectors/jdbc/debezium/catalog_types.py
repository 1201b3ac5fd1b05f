"""Reads what PostgreSQL's catalog tells of the types and columns of a table. Asks the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.postgres.pgoutput import RelationColumn


@dataclass(frozen=True, slots=True)
class CatalogType:
    """Holds a type with its modifier (-1: none); an array's `item`, an enum's `labels`, or the `base` type of a
    domain.
    """

    name: str
    modifier: int = -1
    category: str = "b"
    labels: tuple[str, ...] = ()
    item: CatalogType | None = None
    base: CatalogType | None = None


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """Holds a column as it is now. `default` is the SQL text of its default."""

    not_null: bool
    default: str | None


def columns_of(database: Database, oid: int) -> Mapping[str, CatalogColumn]:
    """Return the columns of a table by name."""
    asked = sa.text(
        "SELECT a.attname, a.attnotnull, CASE WHEN coalesce(to_jsonb(a)->>'attgenerated', '') = '' "
        "THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END FROM pg_catalog.pg_attribute a "
        "LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
        "WHERE a.attrelid = :oid AND a.attnum > 0 AND NOT a.attisdropped"
    ).bindparams(oid=oid)
    rows = database.rows(asked, "reading the columns of a table")
    return {str(row[0]): CatalogColumn(bool(row[1]), None if row[2] is None else str(row[2])) for row in rows}


def types_of(database: Database, columns: Sequence[RelationColumn]) -> list[CatalogType]:
    """Return the types of columns that the log describes."""
    rows: dict[int, tuple[str, str, int, int, int, tuple[str, ...]]] = {}
    wanted = {column.type_oid for column in columns}
    while wanted:
        for oid, name, kind, item, base, modifier, labels in database.rows(_types(wanted), "reading types"):
            rows[int(oid)] = (str(name), str(kind), int(item), int(base), int(modifier), tuple(map(str, labels or ())))
        below = {number for row in rows.values() for number in row[2:4] if number}
        # A type that was dropped since then has no row.
        wanted = {number for number in below if number not in rows} - wanted
    return [_made(rows, column.type_oid, column.modifier) for column in columns]


def _made(rows: Mapping[int, tuple[str, str, int, int, int, tuple[str, ...]]], oid: int, modifier: int) -> CatalogType:
    if oid not in rows:
        return CatalogType("", modifier)
    name, kind, item, base, base_modifier, labels = rows[oid]
    return CatalogType(
        name, modifier, kind, labels,
        _made(rows, item, modifier) if item else None,
        _made(rows, base, base_modifier) if base else None,
    )  # fmt: skip


def _types(oids: set[int]) -> sa.TextClause:
    # A type of fixed length such as point has items, too, but is no array.
    return sa.text(
        "SELECT t.oid, t.typname, t.typtype, CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END, t.typbasetype, "
        "t.typtypmod, (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e "
        "WHERE e.enumtypid = t.oid) FROM pg_catalog.pg_type t WHERE t.oid = ANY(:oids)"
    ).bindparams(oids=sorted(oids))
