"""The table whose changes are measured, and the writers that change it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import psycopg

from connect.tools.services.sql import SqlEndpoint

TABLE = "orders"
_COLUMNS = (
    "id BIGINT PRIMARY KEY, customer INT NOT NULL, state SMALLINT NOT NULL, paid BOOLEAN, total NUMERIC(12,2), "
    "weight DOUBLE PRECISION, name VARCHAR(40), street VARCHAR(40), city VARCHAR(40), country CHAR(2), note TEXT, "
    "made TIMESTAMP NOT NULL, changed TIMESTAMPTZ NOT NULL"
)
_ROWS = (
    "INSERT INTO orders SELECT i, i % 1000, i % 100, i % 2 = 0, i * 1.01, i / 3.0, 'customer name ' || i, "
    "'street of ' || i, 'city ' || i % 1000, 'DE', CASE WHEN i % 3 > 0 THEN 'a note about the order ' || i END, "
    "now(), now() FROM generate_series({first}, {last}) i"
)
_PER_TRANSACTION = 1000


@dataclass(frozen=True)
class Database:
    """A PostgreSQL as the bench uses it."""

    endpoint: SqlEndpoint

    def connect(self) -> psycopg.Connection:
        e = self.endpoint
        return psycopg.connect(
            host=e.host, port=e.port, user=e.user, password=e.password, dbname=e.database, autocommit=True
        )

    def prepare(self, name: str) -> None:
        """An empty table, and a slot and publication of this name that keep its changes."""
        with self.connect() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
            connection.execute(f"CREATE TABLE {TABLE} ({_COLUMNS})")
            connection.execute(f"CREATE PUBLICATION {name} FOR TABLE {TABLE}")
            connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))

    def forget(self, name: str) -> None:
        """Drop slot and publication; whoever reads the slot must have left."""
        with self.connect() as connection:
            connection.execute(f"DROP PUBLICATION {name}")
            connection.execute("SELECT pg_drop_replication_slot(%s)", (name,))

    def fill(self, changes: int) -> None:
        """Half inserts, half updates, 1000 to a transaction."""
        half = changes // 2
        with self.connect() as connection:
            for first in range(1, half + 1, _PER_TRANSACTION):
                connection.execute(_ROWS.format(first=first, last=min(first + _PER_TRANSACTION - 1, half)))
            for first in range(1, half + 1, _PER_TRANSACTION):
                last = min(first + _PER_TRANSACTION - 1, half)
                update = f"UPDATE {TABLE} SET state = state + 1, changed = now() WHERE id BETWEEN {first} AND {last}"
                connection.execute(update)

    def end(self) -> str:
        """Where the server's log ends."""
        with self.connect() as connection:
            (lsn,) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone() or ("",)
            return str(lsn)

    def write_one(self) -> None:
        """A row that no steady writer writes."""
        with self.connect() as connection:
            connection.execute(_ROWS.format(first=0, last=0))

    def write_steadily(self, changes_per_s: int, for_s: float) -> int:
        """Small transactions at an even pace; how many rows were written."""
        step_s, pause = 0.01, threading.Event()
        rows, begun_s = 0, time.monotonic()
        with self.connect() as connection:
            while (gone_s := time.monotonic() - begun_s) < for_s:
                wanted = int(gone_s * changes_per_s)
                if wanted > rows:
                    connection.execute(_ROWS.format(first=rows + 1, last=wanted))
                    rows = wanted
                pause.wait(step_s)
        return rows

    def connector(self, name: str) -> dict[str, str]:
        """A connector over the slot."""
        e = self.endpoint
        return {
            "name": name, "connector.class": "JdbcSourceConnector", "mode": "log", "topic.prefix": name,
            "connection.url": f"jdbc:postgresql://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
            "connection.password": e.password, "table.whitelist": TABLE, "slot.name": name,
            "publication.name": name, "snapshot.mode": "no_data", "timestamp.granularity": "micros_long",
        }  # fmt: skip

    def topic(self, name: str) -> str:
        return f"{name}.public.{TABLE}"
