"""Starts a PostgreSQL that many connectors read at once, and makes connections to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from connect.tools.services.postgres import PostgresService
from connect.tools.services.sql import SqlEndpoint


@contextmanager
def server_of_many_slots() -> Iterator[SqlEndpoint]:
    """Yield a PostgreSQL that has a replication slot for each connector, and transactions that are prepared: by default
    it allows ten slots, and no prepared transaction.
    """
    with PostgresService() as service:
        with connected(service.endpoint) as database:
            for setting in ("max_replication_slots", "max_wal_senders", "max_prepared_transactions"):
                database.execute(f"ALTER SYSTEM SET {setting} = 30".encode())
        service.stop()
        yield service.start()


def connected(server: SqlEndpoint) -> psycopg.Connection[tuple[object, ...]]:
    """Return a connection for the statements of a test."""
    return psycopg.connect(
        host=server.host, port=server.port, user=server.user, password=server.password, dbname=server.database,
        autocommit=True,
    )  # fmt: skip
