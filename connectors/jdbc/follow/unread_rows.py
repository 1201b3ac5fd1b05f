"""Counts the rows that a pass has still to read: seldom, up to a limit, and never by a look at the whole table.

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
"""Counting ends there."""
ASK_S: Final = 10.0
"""How often a table is asked, at most."""
_SHARE: Final = 100
"""A question that took a second comes again after so many: reading goes before."""


class UnreadRows:
    """Tells how many rows a pass has not read yet.

    `rows`: so many at least, 0: none was left at the last look; None: that is not known.
    """

    def __init__(self, label: str, *, may_ask: bool) -> None:
        """`may_ask`: an index lets the rows behind a place be counted in the order of reading."""
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

        Return False where that failed, and the session's transaction may have: reading goes on in another one, without
        the number, and says itself what is wrong with the database.
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
        """Note that so many rows were read. Where counting ended at its limit, one more at least is there."""
        if self.rows is not None:
            self.rows = max(1 if self._is_limited else 0, self.rows - rows)


def counted(rest: sa.Select[Any]) -> sa.Select[Any]:
    """Return the statement that counts what another one would read, up to the limit."""
    # The order stays, as it is what makes the database go by the index from the place on.
    some = rest.with_only_columns(sa.literal_column("1").label("one")).limit(MOST_ROWS).subquery("unread")
    return sa.select(sa.func.count()).select_from(some)
