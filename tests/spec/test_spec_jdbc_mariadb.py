"""The JDBC source keeps the contract of sources on MariaDB, polling and by its binary log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from jdbc_drivers import WAIVERS, IncrementingDriver, LogDriver, TimestampedDriver, started
from jdbc_servers import MariaDb
from keyed_source import KeyedSourceSuite

from connect.api.plugin import Capability
from connect.testing.source import SourceSuite
from connect.tools.services.mariadb import MariaDbService
from connectors.jdbc.plugin import SOURCE

pytestmark = pytest.mark.integration


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
