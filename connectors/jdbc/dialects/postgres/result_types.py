"""Maps PostgreSQL's type numbers (oids), which results of queries and the log have, to SQLAlchemy's types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import types as t
from sqlalchemy.dialects import postgresql as pg

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.values.types import ResultColumn

BOOL: Final = 16
XML: Final = 142
BPCHAR: Final = 1042
INET: Final = 869
_FIRST_USER_OID = 16384
_NUMERIC, _BIT, _VARBIT = 1700, 1560, 1562
_TYPES: Mapping[int, t.TypeEngine[Any]] = {
    BOOL: t.Boolean(), 17: pg.BYTEA(), 18: t.String(), 19: t.String(), 20: t.BigInteger(), 21: t.SmallInteger(),
    23: t.Integer(), 25: t.Text(), 26: pg.OID(), 700: t.REAL(), 701: t.DOUBLE(), 790: pg.MONEY(), BPCHAR: t.CHAR(),
    1043: t.String(), 1082: t.Date(), 1083: pg.TIME(), 1266: pg.TIME(timezone=True), 1114: pg.TIMESTAMP(),
    1184: pg.TIMESTAMP(timezone=True), INET: pg.INET(),
}  # fmt: skip


def type_of(oid: int, modifier: int) -> t.TypeEngine[Any]:
    """Return the type with the number `oid` and a modifier (pg_attribute.atttypmod; -1: none).

    NullType is returned for a type without a counterpart. A domain has to be replaced by the type below it before.
    """
    if oid == _NUMERIC:
        if modifier < 0:
            return t.NUMERIC()
        # The scale is a signed number of 11 bits since version 15 (src/backend/utils/adt/numeric.c).
        scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024
        return t.NUMERIC((modifier - 4) >> 16 & 0xFFFF, scale)
    if oid in {_BIT, _VARBIT}:
        return pg.BIT(modifier if modifier > 0 else None, varying=oid == _VARBIT)
    if oid in {1114, 1184} and modifier >= 0:
        return pg.TIMESTAMP(timezone=oid == 1184, precision=modifier)
    if oid in {1083, 1266} and modifier >= 0:
        return pg.TIME(timezone=oid == 1266, precision=modifier)
    return _TYPES.get(oid) or t.NullType()


@dataclass(frozen=True, slots=True)
class Described:
    """Describes a column of a result.

    If it is a column of a table, `table` is the table's oid and `place` the column's number in it. Both are 0 for an
    expression, or if the driver does not tell them.
    """

    name: str
    oid: int
    modifier: int
    table: int = 0
    place: int = 0


def result_columns(cursor: Any) -> list[Described]:
    """Return the columns of a driver's result."""
    result = getattr(cursor, "pgresult", None)
    found = []
    for i, column in enumerate(cursor.description):
        name, oid, _, _, precision, scale, _ = tuple(column)[:7]
        if result is not None:
            found.append(Described(str(name), int(oid), result.fmod(i), result.ftable(i), result.ftablecol(i)))
        else:  # psycopg2 tells the digits of numbers only
            modifier = -1 if precision is None else (precision << 16 | (scale or 0) & 0x7FF) + 4
            found.append(Described(str(name), int(oid), modifier))
    return found


def known_columns(database: Database, columns: Sequence[Described], *, keeps_not_null: bool) -> dict[str, ResultColumn]:
    """Return a result's columns by name; reads the catalog.

    With `keeps_not_null` a result's column is NOT NULL if the table's column is; else every column may be null.
    """
    tables = sorted({c.table for c in columns if c.table}) if keeps_not_null else []
    never = set()
    if tables:
        asked = sa.text(
            "SELECT attrelid, attnum FROM pg_catalog.pg_attribute WHERE attnotnull AND attrelid = ANY(:tables)"
        ).bindparams(tables=tables)
        never = {(int(row[0]), int(row[1])) for row in database.rows(asked, "reading the columns of the query")}
    types = bases(database, [(c.oid, c.modifier) for c in columns])
    return {
        c.name: ResultColumn(type_of(oid, modifier), nullable=(c.table, c.place) not in never)
        for c, (oid, modifier) in zip(columns, types, strict=True)
    }


def bases(database: Database, types: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of type number and modifier, each domain replaced by the type below it.

    Reads the catalog if there are types of users.
    """
    users = sorted({oid for oid, _ in types if oid >= _FIRST_USER_OID})
    found = {}
    if users:
        rows = database.rows(_domains(users), "reading the types of the database")
        found = {int(row[0]): (int(row[1]), int(row[2])) for row in rows}
    return [found.get(oid, (oid, modifier)) for oid, modifier in types]


def _domains(oids: Sequence[int]) -> sa.TextClause:
    return sa.text(
        "WITH RECURSIVE base AS (SELECT oid AS root, typbasetype AS oid, typtypmod AS modifier FROM pg_catalog.pg_type "
        "WHERE oid = ANY(:oids) AND typtype = 'd' UNION ALL SELECT b.root, t.typbasetype, t.typtypmod FROM base b "
        "JOIN pg_catalog.pg_type t ON t.oid = b.oid AND t.typtype = 'd') SELECT b.root, b.oid, b.modifier FROM base b "
        "JOIN pg_catalog.pg_type t ON t.oid = b.oid AND t.typtype <> 'd'"
    ).bindparams(oids=list(oids))
