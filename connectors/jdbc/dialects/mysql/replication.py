"""Tells how far a replica of MariaDB or MySQL is behind its primary. The primary alone knows the open transactions.

Source: MariaDB's and MySQL's documentation of SHOW REPLICA STATUS. Seconds_Behind_Master is 0 when everything that was
received is applied, and NULL while nothing is received or applied.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database

_log = logging.getLogger(__name__)
_DOING: Final = "asking how far the replica is"
_STATUS: Final = {True: ("SHOW ALL SLAVES STATUS",), False: ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")}
_BEHIND: Final = ("Seconds_Behind_Master", "Seconds_Behind_Source")
_SECOND_US: Final = 1_000_000


class Replication:
    """Tells how far one replica is behind. Owned by the reading thread."""

    def __init__(self, longest_us: int) -> None:
        """Take `longest_us`, the microseconds that a replica is assumed to be behind if it never told its lag."""
        self._longest_us = longest_us
        self._reached_us: int | None = None
        self._follows = True
        self._warned = False

    def reached_us(self, database: Database, now_us: int, *, applies: bool) -> int | None:
        """Return the time up to which the replica has the primary's commits, or None if the server is no replica.

        `applies` is True if threads that apply a primary's log run. RetriableError: the server cannot tell now.
        """
        if not (applies or self._follows):
            return None
        status = self._status(database)
        if status is None:
            self._follows = False
            return self._untold(now_us) if applies else None
        self._follows = bool(status)
        if not status:
            return None
        behind = [next((row[name] for name in _BEHIND if name in row), None) for row in status]
        if all(seconds is not None for seconds in behind):
            self._warned = False
            # The server tells whole seconds, so it may be almost one more.
            self._reached_us = now_us - (max(int(s) for s in behind if s is not None) + 1) * _SECOND_US
        elif not applies and self._takes_writes(database):
            return None
        else:
            self._tell("Replication does not run: rows newer than what the replica has are held until it does.")
        return now_us - self._longest_us if self._reached_us is None else self._reached_us

    def _untold(self, now_us: int) -> int:
        self._tell(
            "How far the replica is behind cannot be seen, so rows that come more than a minute late can be lost: "
            "GRANT SLAVE MONITOR ON *.* to the user (MySQL, and MariaDB before 10.5: REPLICATION CLIENT)."
        )
        return now_us

    def _tell(self, text: str) -> None:
        if not self._warned:
            _log.warning(text)
        self._warned = True

    @staticmethod
    def _takes_writes(database: Database) -> bool:
        asked = sa.text("SELECT @@global.read_only")
        return database.told(lambda: int(database.scalar(asked, _DOING))) == 0

    @staticmethod
    def _status(database: Database) -> Sequence[dict[str, Any]] | None:
        for statement in _STATUS[database.is_mariadb]:
            rows = database.told(partial(database.mappings, sa.text(statement), _DOING))
            if rows is not None:
                return rows
        return None
