"""Counts the rows that a pass still has to read: seldom, up to a limit, and never by reading the whole table.

Owned by the reading thread.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Final

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.connection import Database

_log = logging.getLogger(__name__)
MOST_ROWS: Final = 1_000_000
"""Counting ends at this number of rows."""
ASK_S: Final = 10.0
"""A table is counted at most once in this many seconds."""
_SHARE: Final = 100
"""A count is repeated after this many times the time that it took, at the soonest, so that it delays reading little."""


class UnreadRows:
    """Tells how many rows a pass has not read yet.

    At least `rows` rows were unread at the last look, or None if the number is not known.
    """

    def __init__(self, label: str, *, may_ask: bool) -> None:
        """Begin without a number. `may_ask` is True if an index lets the rows behind a place be counted in the order of
        reading.
        """
        self._label = label
        self._may_ask = may_ask
        self._ask_at_s = 0.0
        self._is_limited = False
        self.rows: int | None = None

    @property
    def is_due(self) -> bool:
        """Return True if the database may be asked now."""
        return self._may_ask and time.monotonic() >= self._ask_at_s

    def ask(self, database: Database, rest: sa.Select[Any]) -> bool:
        """Count the rows of `rest`, the statement that reads on, in the session that reads.

        Return False if this failed. The session's transaction may have failed, too: reading then goes on in another one
        without the number, and reports any trouble with the database itself.
        """
        began_s = time.monotonic()
        try:
            self.rows = int(database.scalar(counted(rest), f"counting {self._label}") or 0)
            self._is_limited = self.rows >= MOST_ROWS
        except ConnectError as error:
            self.rows = None
            self._may_ask = isinstance(error, RetriableError)
            _log.info("How many rows of %s are not read is not known: %s", self._label, error)
            return False
        finally:
            ended_s = time.monotonic()
            self._ask_at_s = ended_s + max(ASK_S, _SHARE * (ended_s - began_s))
        return True

    def read(self, rows: int) -> None:
        """Note that `rows` rows were read. If counting ended at its limit, at least one more row stays unread."""
        if self.rows is not None:
            self.rows = max(1 if self._is_limited else 0, self.rows - rows)


def counted(rest: sa.Select[Any]) -> sa.Select[Any]:
    """Return the statement that counts, up to the limit, the rows that another statement would read."""
    # The order is kept, as it makes the database use the index from the place on.
    some = rest.with_only_columns(sa.literal_column("1").label("one")).limit(MOST_ROWS).subquery("unread")
    return sa.select(sa.func.count()).select_from(some)
