"""The JDBC source keeps the contract of sources on MariaDB, polling and by its binary log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import pymysql
import pytest
from jdbc_drivers import WAIVERS, IncrementingDriver, LogDriver, TimestampedDriver, started
from keyed_source import KeyedSourceSuite
from server_relay import ServerRelay

from connect.api.deadline import Deadline
from connect.api.plugin import Capability
from connect.services.mariadb import MariaDbService
from connect.services.sql import SqlEndpoint
from connect.testing.source import SourceSuite
from connectors.jdbc.plugin import SOURCE

pytestmark = pytest.mark.integration
OTHERS = "FROM information_schema.processlist WHERE user = 'connect' AND id <> connection_id()"


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
        deadline = Deadline.after(20.0)
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            while True:
                cursor.execute(f"SELECT id {OTHERS}")
                left = cursor.fetchall()
                if not left:
                    return
                assert deadline.wait(0.01), f"Sessions do not end: {left}"
                for (number,) in left:
                    with suppress(pymysql.err.OperationalError):  # it ended by itself
                        cursor.execute(f"KILL {number}")

    def forget_readers(self) -> None:
        """The binary log knows none."""


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDb]:
    for endpoint, relay in started(MariaDbService()):
        yield MariaDb(endpoint, relay)


class TestIncrementing(KeyedSourceSuite):
    plugin = SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, mariadb: MariaDb) -> IncrementingDriver:
        return IncrementingDriver(mariadb)


class TestTimestampIncrementing(KeyedSourceSuite):
    plugin = SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, mariadb: MariaDb) -> TimestampedDriver:
        return TimestampedDriver(mariadb)


class TestLog(SourceSuite):
    plugin = replace(SOURCE, capabilities=SOURCE.capabilities | {Capability.DELETES})
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, mariadb: MariaDb) -> LogDriver:
        return LogDriver(mariadb)
