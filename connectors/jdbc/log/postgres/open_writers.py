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


def wait_for_writers(database: Database, publication: str, waits: Callable[[float], bool]) -> None:
    """Wait until every transaction has ended that has written anything by now.

    `waits` waits for so many seconds, and returns False if the wait is to end. RetriableError: it ended before they
    did.
    """
    what = f"Publication {publication} may lack changes that are not committed yet"
    wait, before = OpenTransactionWait(what), next_transaction(database)
    while _asked(database, _OLDEST) < before:
        wait.goes_on(database)
        if not waits(_LOOK_S):
            raise RetriableError(
                f"{what}: it waits for {those_of(database)}.", fix="End them, or wait longer by handover.settle."
            )


def next_transaction(database: Database) -> int:
    """Return the number that the next transaction will get. Those that are open have lower ones."""
    return _asked(database, _NEXT)


def _asked(database: Database, statement: sa.TextClause) -> int:
    found = int(database.scalar(statement, _DOING))
    database.end_transaction()
    return found
