"""The JDBC source keeps the contract of sources on PostgreSQL, polling and by its log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from jdbc_drivers import WAIVERS, IncrementingDriver, LogDriver, TimestampedDriver, started
from keyed_source import KeyedSourceSuite
from server_relay import ServerRelay

from connect.api.deadline import Deadline
from connect.api.plugin import Capability
from connect.services.postgres import PostgresService
from connect.services.sql import SqlEndpoint
from connect.testing.source import SourceSuite
from connectors.jdbc.plugin import SOURCE

pytestmark = pytest.mark.integration
OTHERS = "backend_type IN ('client backend', 'walsender') AND pid <> pg_backend_pid()"


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
        deadline = Deadline.after(20.0)
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            while True:
                cursor.execute(f"SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}")
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


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    for endpoint, relay in started(PostgresService()):
        yield Postgres(endpoint, relay)


class TestIncrementing(KeyedSourceSuite):
    plugin = SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, postgres: Postgres) -> IncrementingDriver:
        return IncrementingDriver(postgres)


class TestTimestampIncrementing(KeyedSourceSuite):
    plugin = SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, postgres: Postgres) -> TimestampedDriver:
        return TimestampedDriver(postgres)


class TestLog(SourceSuite):
    plugin = replace(SOURCE, capabilities=SOURCE.capabilities | {Capability.DELETES})
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, postgres: Postgres) -> LogDriver:
        return LogDriver(postgres)
