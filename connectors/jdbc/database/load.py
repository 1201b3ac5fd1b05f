"""How busy a database is: sessions that work, and how far its replicas are behind. Asks the server, changes nothing."""

from __future__ import annotations

from connect.api.optional.bulk import SourceLoad
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig


def load(config: JdbcSourceConfig, deadline: Deadline) -> SourceLoad:
    """Return how busy the database is, asked on a connection of its own.

    RetriableError: the database does not answer.
    """
    database = Database(config, waits=True, connect_timeout_s=max(1, int(deadline.remaining_s)))
    try:
        return database.dialect.server.load(database)
    finally:
        database.close()
