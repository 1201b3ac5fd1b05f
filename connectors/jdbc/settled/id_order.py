"""Tells if ids are given out in order, which mode=incrementing relies on beyond what open transactions explain."""

from __future__ import annotations

import re

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.table_choice import TableName

_DOING = "asking how ids are given out"


def out_of_order(database: Database, table: TableName, column: str) -> str | None:
    """Why a row can get a smaller id than one that was committed before, and the remedy; None: nothing says so.

    RetriableError: not now.
    """
    ask = {"postgresql": _postgres, "mysql": _mysql, "mariadb": _mysql}.get(database.dialect_name)
    if ask is None:
        return None
    # An old server knows no such catalog; the audit then says nothing.
    return database.told(lambda: ask(database, table, column))


def _postgres(database: Database, table: TableName, column: str) -> str | None:
    quote = database.connection.dialect.identifier_preparer.quote
    named = ".".join(quote(part) for part in (table.schema, table.name) if part)
    rows = database.rows(sa.text(_SEQUENCES).bindparams(named=named, name=column), _DOING)
    for sequence, cache, step, cycles in rows:
        if step < 0 or cycles:
            return f"{sequence} does not only count up (INCREMENT {step}{', CYCLE' * cycles}). Use another mode."
        if cache > 1:
            return f"each session takes {cache} ids of {sequence} at a time. ALTER SEQUENCE {sequence} CACHE 1."
    return None


# The column's own sequence (serial, identity), and any that its default takes a number of: by another name, through a
# cast, of another table.
_SEQUENCES = """
SELECT s.seqrelid::regclass::text, s.seqcache, s.seqincrement, s.seqcycle FROM pg_catalog.pg_sequence s
WHERE s.seqrelid IN (
  SELECT d.objid FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
  WHERE d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
  AND d.refobjid = to_regclass(:named) AND a.attname = :name
  UNION
  SELECT d.refobjid FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
  JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
  WHERE d.refclassid = 'pg_class'::regclass AND f.adrelid = to_regclass(:named) AND a.attname = :name
)
ORDER BY 1
"""


def _mysql(database: Database, table: TableName, column: str) -> str | None:
    step = int(database.scalar(sa.text("SELECT @@global.auto_increment_increment"), _DOING))
    if step != 1:
        return f"several servers give them out (auto_increment_increment={step}). Use mode=timestamp+incrementing."
    return _mariadb_sequence(database, table, column) if database.is_mariadb else None


def _mariadb_sequence(database: Database, table: TableName, column: str) -> str | None:
    default = sa.text(
        "SELECT column_default FROM information_schema.columns WHERE table_schema = coalesce(:schema, database()) "
        "AND table_name = :name AND column_name = :column"
    ).bindparams(schema=table.schema, name=table.name, column=column)
    found = _NEXT_VALUE.search(str(database.scalar(default, _DOING) or ""))
    if found is None:
        return None
    sequence = found[1]
    # Its cache is the server's, not a session's: numbers are given out in order.
    ((step, cycles),) = database.rows(
        sa.text(f"SELECT increment, cycle_option FROM {sequence.replace(':', chr(92) + ':')}"),  # noqa: S608
        _DOING,
    )
    if step < 0 or cycles:
        return f"{sequence} does not only count up (INCREMENT {step}{', CYCLE' * bool(cycles)}). Use another mode."
    if step == 0:
        return f"several servers give them out ({sequence} has INCREMENT 0). Use mode=timestamp+incrementing."
    return None


_NEXT_VALUE = re.compile(r"nextval\(((?:`(?:[^`]|``)*`|\w+)(?:\.(?:`(?:[^`]|``)*`|\w+))?)\)", re.IGNORECASE)
