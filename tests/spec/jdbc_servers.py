"""SQL servers as their raw clients see them, and the way to each that can be cut."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any

import psycopg
import pymysql
from server_relay import ServerRelay

from connect.lib.deadline import Deadline
from connect.tools.services.sql import SqlEndpoint

_OTHERS_OF_POSTGRES = "backend_type IN ('client backend', 'walsender') AND pid <> pg_backend_pid()"
_OTHERS_OF_MARIADB = "FROM information_schema.processlist WHERE user = 'connect' AND id <> connection_id()"


class Postgres:
    """A PostgreSQL as psycopg sees it."""

    scheme = "postgresql"
    number_type = "DOUBLE PRECISION"

    def __init__(self, endpoint: SqlEndpoint, relay: ServerRelay) -> None:
        self.endpoint = endpoint
        self.relay = relay

    def connect(self) -> Any:
        e = self.endpoint
        return psycopg.connect(host=e.host, port=e.port, user=e.user, password=e.password, dbname=e.database)

    def end_sessions(self) -> None:
        deadline = Deadline.after(60)
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            while True:
                cursor.execute(
                    f"SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_OTHERS_OF_POSTGRES}"
                )
                left = cursor.fetchall()
                if not left:
                    return
                assert deadline.wait(0.01), f"Sessions do not end: {left}"

    def forget_readers(self) -> None:
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            cursor.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
            cursor.execute("SELECT quote_ident(pubname) FROM pg_publication")
            for (name,) in cursor.fetchall():
                cursor.execute(f"DROP PUBLICATION {name}")


class MariaDb:
    """A MariaDB as PyMySQL sees it."""

    scheme = "mariadb"
    number_type = "DOUBLE"

    def __init__(self, endpoint: SqlEndpoint, relay: ServerRelay) -> None:
        self.endpoint = endpoint
        self.relay = relay

    def connect(self) -> Any:
        e = self.endpoint
        return pymysql.connect(
            host=e.host, port=e.port, user=e.user, password=e.password, database=e.database, ssl_disabled=True
        )

    def end_sessions(self) -> None:
        deadline = Deadline.after(60)
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            while True:
                cursor.execute(f"SELECT id {_OTHERS_OF_MARIADB}")
                left = cursor.fetchall()
                if not left:
                    return
                assert deadline.wait(0.01), f"Sessions do not end: {left}"
                for (number,) in left:
                    with suppress(pymysql.err.OperationalError):  # it ended by itself
                        cursor.execute(f"KILL {number}")

    def forget_readers(self) -> None:
        """The binary log knows none."""
