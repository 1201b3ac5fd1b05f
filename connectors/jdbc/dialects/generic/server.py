"""Tells what a server says of itself: how busy it is, who works on it, and its clock on the wall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connect.api.optional.bulk import SourceLoad

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


class Server:
    """Asks nothing, as it is not known how a server tells of itself."""

    open_sessions: str = ""
    """This statement lists sessions with open transactions, oldest first; empty: the server does not tell them.

    Its columns: name, user, program, host, state, beginning.
    """
    offset_s: str = ""
    """This statement tells how many seconds ahead of UTC a session is that sets no zone, as ours do; empty: none."""

    def load(self, database: Database) -> SourceLoad:
        """Return how busy the server is."""
        del database
        return SourceLoad(None, None)

    def ends_statements(self, database: Database) -> bool:
        """Tell if the server ends a statement that takes too long, as far as is known."""
        del database
        return True
