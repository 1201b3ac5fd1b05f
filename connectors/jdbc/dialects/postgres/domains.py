"""Resolves domains of PostgreSQL to the types below them, with the digits and lengths that SQLAlchemy leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import types as t
from sqlalchemy.dialects.postgresql import BIT, DOMAIN, TIME, TIMESTAMP

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.table_choice import TableName

_MODIFIERS = """
WITH RECURSIVE base AS (
  SELECT a.attname, t.typbasetype AS oid, t.typtypmod AS modifier FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid AND t.typtype = 'd'
  WHERE a.attrelid = to_regclass(:named) AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT b.attname, t.typbasetype, t.typtypmod FROM base b
  JOIN pg_catalog.pg_type t ON t.oid = b.oid AND t.typtype = 'd'
) SELECT attname, max(modifier) FROM base GROUP BY attname
"""


def modifiers_of(database: Database, table: TableName) -> Mapping[str, int]:
    """Return the type modifier (pg_type.typtypmod) of each column whose type is a domain; -1 means none."""
    asked = sa.text(_MODIFIERS).bindparams(named=table.quoted)
    rows = database.rows(asked, f"reading the domains of table {table.full}")
    return {str(name): int(modifier) for name, modifier in rows}


def base_type(kind: t.TypeEngine[Any], modifier: int) -> t.TypeEngine[Any]:
    """Return `kind`, the type below a domain, with the length or digits that the domain's `modifier` tells."""
    while isinstance(kind, DOMAIN):
        kind = kind.data_type
    digits = None if modifier < 0 else modifier
    match kind:
        case t.Numeric() if digits is not None and not isinstance(kind, t.Float):
            # Source: NUMERIC's make_numeric_typmod; the scale is a signed number of 11 bits.
            packed = modifier - 4
            return t.NUMERIC(packed >> 16 & 0xFFFF, (packed & 0x7FF ^ 0x400) - 0x400)
        case BIT():
            return BIT(1 if digits is None else digits, varying=kind.varying)
        case t.TIMESTAMP():
            return TIMESTAMP(timezone=kind.timezone, precision=digits)
        case t.TIME():
            return TIME(timezone=kind.timezone, precision=digits)
    return kind
