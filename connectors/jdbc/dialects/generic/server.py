"""Asks a server for its load, its open sessions and its time zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connect.api.optional.bulk import SourceLoad

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


class Server:
    """Asks nothing, as these questions have another form in each database."""

    open_sessions: str = ""
    """This is the statement that lists sessions with open transactions, oldest first.

    It is empty if the server does not list them. The columns are name, user, program, host, state and beginning.
    """
    offset_s: str = ""
    """This statement tells how many seconds ahead of UTC sessions are by default.

    It is empty if the database has no such statement. The product's own sessions set their zone to UTC.
    """

    def load(self, database: Database) -> SourceLoad:
        """Return the server's load: the number of busy sessions and the lag of its replica, each None if not known."""
        del database
        return SourceLoad(None, None)

    def ends_statements(self, database: Database) -> bool:
        """Return True if the server can end statements that take too long, or if that is not known."""
        del database
        return True
