"""The JDBC source keeps the contract of sources on PostgreSQL, polling and by its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from jdbc_drivers import WAIVERS, IncrementingDriver, SlotDriver, TimestampedDriver, started
from jdbc_servers import Postgres
from keyed_source import KeyedSourceSuite

from connect.api.plugin import Capability
from connect.testing.source import SourceSuite
from connect.tools.services.postgres import PostgresService
from connectors.jdbc.plugin import SOURCE

pytestmark = pytest.mark.integration


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
    def driver(self, postgres: Postgres) -> SlotDriver:
        return SlotDriver(postgres)
