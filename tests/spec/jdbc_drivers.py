"""Provides drivers of the JDBC source over an SQL server, each with a table that the server's raw client alone fills
and reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any, Protocol

from server_relay import ServerRelay
from sql_services import installed

from connect.api.records import Record
from connect.testing.drivers import Row
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.process.ports import free_ports
from connect.tools.services.sql import SqlEndpoint

TABLE, OTHER_TABLE = "orders", "returns"
COLUMNS = ("id", "tie", "text", "whole", "number")
LONG_AGO = datetime(2020, 1, 1)  # noqa: DTZ001 - the column has no zone
WAIVERS = {
    "test_defaults_validate": "Confluent's default of mode is the empty text, refused so that a mode is chosen",
}


class Server(Protocol):
    """An SQL server as its raw client sees it."""

    scheme: str
    """Of its JDBC URL."""
    endpoint: SqlEndpoint
    relay: ServerRelay
    """By which the connector reaches it."""
    number_type: str
    """Its type of floating point numbers of 64 bits."""

    def connect(self) -> Any:
        """A connection (DB-API 2) of the raw client."""

    def end_sessions(self) -> None:
        """End every session but our own, and wait until they are gone."""

    def forget_readers(self) -> None:
        """Drop what readers of the log left in the server."""


def started(service: PostgresService | MariaDbService) -> Iterator[tuple[SqlEndpoint, ServerRelay]]:
    """The service and the way to it while they run; without its binaries the test is skipped, with the reason."""
    with installed(service):
        relay = ServerRelay(*free_ports(1), service.endpoint.port)
        relay.start()
        try:
            yield service.endpoint, relay
        finally:
            relay.cut()


class IncrementingDriver:
    """A table read by an incrementing column."""

    in_order = True

    def __init__(self, server: Server) -> None:
        self.server = server

    def config(self) -> Mapping[str, str]:
        e = self.server.endpoint
        return {
            "connection.url": f"jdbc:{self.server.scheme}://{e.host}:{self.server.relay.port}/{e.database}",
            "connection.user": e.user,
            "connection.password": e.password,
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "table.whitelist": TABLE,
            "topic.prefix": "db-",
            "batch.max.rows": "7",
            "poll.interval.ms": "50",
            "poll.linger.ms": "20",
            # The margin for clocks that are off would make every poll of new ids wait for it.
            "settle.time.ms": "0",
        }

    def reset(self) -> None:
        self.server.end_sessions()
        self.server.forget_readers()
        number = self.server.number_type
        columns = f"tie BIGINT NOT NULL, text TEXT, whole BIGINT, number {number}, changed TIMESTAMP NOT NULL"
        self.run(
            *(f"DROP TABLE IF EXISTS {table}" for table in (TABLE, OTHER_TABLE)),
            *(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, {columns})" for table in (TABLE, OTHER_TABLE)),
        )

    def end_sessions(self) -> None:
        self.server.end_sessions()

    def break_connection(self) -> None:
        self.server.relay.cut()

    def heal(self) -> None:
        self.server.relay.start()

    def insert(self, rows: Sequence[Row]) -> None:
        self._insert(TABLE, rows)

    def topics_config(self) -> Mapping[str, str]:
        return {**self.config(), "table.whitelist": f"{TABLE},{OTHER_TABLE}"}

    def insert_other(self, rows: Sequence[Row]) -> None:
        self._insert(OTHER_TABLE, rows)

    def add_column(self) -> None:
        self.run(f"ALTER TABLE {TABLE} ADD COLUMN added VARCHAR(20) DEFAULT 'added'")

    def drop_column(self) -> None:
        self.run(f"ALTER TABLE {TABLE} DROP COLUMN added")

    def expected(self) -> Sequence[Row]:
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM {TABLE} ORDER BY id")
            return [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]

    def row_of(self, record: Record) -> Row:
        return {name: record.value[name] for name in COLUMNS}

    def _insert(self, table: str, rows: Sequence[Row]) -> None:
        values = ", ".join(f"%({name})s" for name in (*COLUMNS, "changed"))
        sql = f"INSERT INTO {table} ({', '.join(COLUMNS)}, changed) VALUES ({values})"
        self.run_each(sql, [_timed(row) for row in rows])

    def run(self, *statements: str) -> None:
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def run_each(self, statement: str, values: Sequence[Mapping[str, Any]]) -> None:
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            cursor.executemany(statement, values)
            connection.commit()


class TimestampedDriver(IncrementingDriver):
    """The same table read by the time of the last change, then by id."""

    def config(self) -> Mapping[str, str]:
        return {**super().config(), "mode": "timestamp+incrementing", "timestamp.column.name": "changed"}

    def update(self, rows: Sequence[Row]) -> None:
        changes = "tie = %(tie)s, text = %(text)s, changed = %(changed)s"
        self.run_each(f"UPDATE {TABLE} SET {changes} WHERE id = %(id)s", [_timed(row) for row in rows])


class LogDriver(TimestampedDriver):
    """The same table read by the server's log, in Debezium's change events."""

    def config(self) -> Mapping[str, str]:
        polling = {"mode", "timestamp.column.name", "incrementing.column.name", "batch.max.rows", "settle.time.ms"}
        kept = {k: v for k, v in super().config().items() if k not in polling}
        return {**kept, "mode": "log", "topic.prefix": "db", "max.batch.size": "7"}

    def delete(self, ids: Sequence[int]) -> None:
        self.run_each(f"DELETE FROM {TABLE} WHERE id = %(id)s", [{"id": i} for i in ids])

    def row_of(self, record: Record) -> Row:
        if record.value is None:
            return {"id": record.key["id"]}
        row = record.value["after"] or record.value["before"]
        return {name: row[name] for name in COLUMNS}


class SlotDriver(LogDriver):
    """PostgreSQL, which keeps a slot for who reads its log."""

    def cleanup_config(self) -> Mapping[str, str]:
        return {**self.config(), "slot.drop.on.delete": "true"}

    def left_behind(self) -> Sequence[str]:
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT slot_name FROM pg_replication_slots")
            return [name for (name,) in cursor.fetchall()]


def _timed(row: Row) -> Row:
    return {**row, "changed": LONG_AGO + timedelta(seconds=row["tie"])}
