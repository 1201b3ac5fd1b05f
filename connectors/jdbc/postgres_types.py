"""PostgreSQL's types by their numbers, as results of queries and the log tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import types as t
from sqlalchemy.dialects import postgresql as pg

from connectors.jdbc.database import Database

BPCHAR: Final = 1042
_FIRST_USER_OID = 16384
_NUMERIC, _BIT, _VARBIT = 1700, 1560, 1562
_TYPES: Mapping[int, t.TypeEngine[Any]] = {
    16: t.Boolean(), 17: pg.BYTEA(), 18: t.String(), 19: t.String(), 20: t.BigInteger(), 21: t.SmallInteger(),
    23: t.Integer(), 25: t.Text(), 26: pg.OID(), 700: t.REAL(), 701: t.DOUBLE(), 790: pg.MONEY(), BPCHAR: t.CHAR(),
    1043: t.String(), 1082: t.Date(), 1083: pg.TIME(), 1266: pg.TIME(timezone=True), 1114: pg.TIMESTAMP(),
    1184: pg.TIMESTAMP(timezone=True),
}  # fmt: skip


def type_of(oid: int, modifier: int) -> t.TypeEngine[Any]:
    """The type of a number and a modifier (pg_attribute.atttypmod; -1: none); NullType for one without a counterpart.

    A domain must be resolved before.
    """
    if oid == _NUMERIC:
        if modifier < 0:
            return t.NUMERIC()
        # A scale of 11 bits with a sign, since version 15 (src/backend/utils/adt/numeric.c).
        scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024
        return t.NUMERIC((modifier - 4) >> 16 & 0xFFFF, scale)
    if oid in {_BIT, _VARBIT}:
        return pg.BIT(modifier if modifier > 0 else None, varying=oid == _VARBIT)
    if oid in {1114, 1184} and modifier >= 0:
        return pg.TIMESTAMP(timezone=oid == 1184, precision=modifier)
    if oid in {1083, 1266} and modifier >= 0:
        return pg.TIME(timezone=oid == 1266, precision=modifier)
    return _TYPES.get(oid) or t.NullType()


def bases(database: Database, types: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Numbers and modifiers with those of domains replaced by what is below them. Asks the catalog for users' types."""
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
