"""Waits for the transactions that were open when a publication got a table.

The log tells a change only if its publication had the table when the change was written, whenever its transaction
commits. So a transaction that has written a table before, and commits behind the snapshot in which the table is read,
would have rows in neither. A slot that is made behind the publication waits for such transactions itself. A log that
goes on is followed at once, and only chunks of its tables wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import sqlalchemy as sa

from connect.api.errors import RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.open_sessions import OpenTransactionWait, those_of

_LOOK_S: Final = 0.25
_DOING: Final = "asking for open transactions"
_NEXT: Final = sa.text("SELECT txid_snapshot_xmax(txid_current_snapshot())")
_OLDEST: Final = sa.text("SELECT txid_snapshot_xmin(txid_current_snapshot())")

_HAS_SCHEMAS: Final = sa.text("SELECT to_regclass('pg_catalog.pg_publication_namespace') IS NOT NULL")
_CHANGED: Final = """
SELECT xmin::text::bigint FROM pg_catalog.pg_publication WHERE pubname = :name
UNION ALL SELECT r.xmin::text::bigint FROM pg_catalog.pg_publication_rel r
JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid WHERE p.pubname = :name
"""
_CHANGED_SCHEMAS: Final = """
UNION ALL SELECT n.xmin::text::bigint FROM pg_catalog.pg_publication_namespace n
JOIN pg_catalog.pg_publication p ON p.oid = n.pnpubid WHERE p.pubname = :name
"""
_LOWER_BITS: Final = 0xFFFFFFFF


def wait_for_writers(database: Database, publication: str, before: int, waits: Callable[[float], bool]) -> None:
    """Wait until every transaction has ended whose number is below `before`.

    `waits` waits for so many seconds, and returns False if the wait is to end. RetriableError: it ended before they
    did.
    """
    what = f"Publication {publication} may lack changes that are not committed yet"
    wait = OpenTransactionWait(what)
    while _asked(database, _OLDEST) < before:
        wait.goes_on(database)
        if not waits(_LOOK_S):
            raise RetriableError(
                f"{what}: it waits for {those_of(database)}.", fix="End them, or wait longer by handover.settle."
            )


def next_transaction(database: Database) -> int:
    """Return the number that the next transaction will get. Those that are open have lower ones."""
    return _asked(database, _NEXT)


def published_at(database: Database, publication: str, *, is_changed: bool) -> int:
    """Return a number of transactions: those with lower ones may have written to tables before a publication had them.

    `is_changed` says that we have changed the publication just now. Of an earlier change its own number is known, and
    not which others were open when it was committed. Return 0 if there is no such publication.
    """
    if is_changed:
        return next_transaction(database)
    with_schemas = bool(database.scalar(_HAS_SCHEMAS, _DOING))
    changed = sa.text(_CHANGED + (_CHANGED_SCHEMAS if with_schemas else ""))
    numbers = [int(row[0]) for row in database.rows(changed.bindparams(name=publication), _DOING)]
    following = next_transaction(database)
    return max((whole_number(number, following) for number in numbers), default=0)


def whole_number(number: int, following: int) -> int:
    """Return the 64 bits of a past transaction's number, of which rows keep 32. `following` is a later number."""
    found = following & ~_LOWER_BITS | number
    return found if found < following else max(0, found - _LOWER_BITS - 1)


def _asked(database: Database, statement: sa.TextClause) -> int:
    found = int(database.scalar(statement, _DOING))
    database.end_transaction()
    return found
