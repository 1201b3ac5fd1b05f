"""Starts MariaDB and MySQL for Debezium's connectors, and tells which connector reads which of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql

from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.mysql import MySqlService
from connect.tools.services.sql import SqlEndpoint

SERVICES = {"mariadb": MariaDbService, "mysql": MySqlService}
CLASSES: Mapping[str, str] = {
    "mariadb": "io.debezium.connector.mariadb.MariaDbConnector",
    "mysql": "io.debezium.connector.mysql.MySqlConnector",
}


@dataclass(frozen=True)
class BinlogServer:
    """Holds a running server, and a session on it for a test's statements."""

    kind: str
    endpoint: SqlEndpoint
    session: pymysql.Connection

    def run(self, *statements: str) -> None:
        """Run statements, each in its own transaction unless they say otherwise."""
        with self.session.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def config(self, name: str, bootstrap_servers: str = "kafka:9092", **settings: str) -> dict[str, str]:
        """Return the configuration of a connector of this name, as in Debezium's tutorial."""
        of_mariadb = {"database.ssl.mode": "disable"} if self.kind == "mariadb" else {}
        return {
            "connector.class": CLASSES[self.kind], "tasks.max": "1", "database.hostname": self.endpoint.host,
            "database.port": str(self.endpoint.port), "database.user": self.endpoint.user,
            "database.password": self.endpoint.password, "database.server.id": str(sum(name.encode()) + 184000),
            "topic.prefix": name, "schema.history.internal.kafka.bootstrap.servers": bootstrap_servers,
            "schema.history.internal.kafka.topic": f"history.{name}", **of_mariadb, **settings,
        }  # fmt: skip


@contextmanager
def binlog_server(kind: str, metadata: str = "FULL") -> Iterator[BinlogServer]:
    """Yield a server of this kind that nobody else reads. `metadata` is its binlog_row_metadata."""
    with SERVICES[kind]() as service:
        endpoint = service.endpoint
        session = pymysql.connect(
            host=endpoint.host, port=endpoint.port, user=endpoint.user, password=endpoint.password, autocommit=True
        )
        with session:
            server = BinlogServer(kind, endpoint, session)
            server.run(f"SET GLOBAL binlog_row_metadata = {metadata}")
            yield server
