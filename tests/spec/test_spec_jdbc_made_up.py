"""The JDBC source keeps the contract of sources on a database that is one file: a dialect, registered by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from keyed_source import KeyedSourceSuite
from made_up_source import REFERENCE, TOYBASE_SOURCE
from test_spec_jdbc_sqlite import WAIVERS, SqliteDriver, TimestampedSqliteDriver

from connectors.jdbc.dialects.known import DIALECTS, dialect_of


@pytest.fixture(autouse=True)
def toybase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIALECTS, "toybase", REFERENCE)


class ToybaseDriver(SqliteDriver):
    def config(self) -> Mapping[str, str]:
        return {**super().config(), "connection.url": f"jdbc:toybase:{self.path}"}


class TimestampedToybaseDriver(TimestampedSqliteDriver):
    def config(self) -> Mapping[str, str]:
        return {**super().config(), "connection.url": f"jdbc:toybase:{self.path}"}


def test_the_url_chooses_the_dialect() -> None:
    assert type(dialect_of("jdbc:toybase:/data/shop.db")).__name__ == "Toybase"


class TestJdbcIncrementing(KeyedSourceSuite):
    plugin = TOYBASE_SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SqliteDriver:
        return ToybaseDriver(tmp_path)


class TestJdbcTimestampIncrementing(KeyedSourceSuite):
    plugin = TOYBASE_SOURCE
    waivers = WAIVERS

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SqliteDriver:
        return TimestampedToybaseDriver(tmp_path)
