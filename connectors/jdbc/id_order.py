"""Whether ids are given out in order, which mode=incrementing relies on beyond what open transactions explain."""

from __future__ import annotations

import sqlalchemy as sa

from connectors.jdbc.database import Database
from connectors.jdbc.tables import TableName

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


_SEQUENCES = """
SELECT s.seqrelid::regclass::text, s.seqcache, s.seqincrement, s.seqcycle FROM pg_catalog.pg_sequence s
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid AND d.deptype IN ('a', 'i')
JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refobjid = to_regclass(:named) AND a.attname = :name
"""


def _mysql(database: Database, _table: TableName, _column: str) -> str | None:
    step = int(database.scalar(sa.text("SELECT @@global.auto_increment_increment"), _DOING))
    if step == 1:
        return None
    return f"several servers give them out (auto_increment_increment={step}). Use mode=timestamp+incrementing."
