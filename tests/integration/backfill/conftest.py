"""Provides a table of PostgreSQL for the backfill tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backfill_job import Table
from chromium import axe, browser  # noqa: F401 - fixtures
from warm_lanes import warm_lanes  # noqa: F401 - a fixture

from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint


@pytest.fixture
def table(postgres: SqlEndpoint, kafka: KafkaEndpoint, unique: str) -> Iterator[Table]:
    made = Table(postgres, kafka, unique)
    yield made
    made.engine.dispose()
