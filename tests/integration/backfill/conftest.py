"""A PostgreSQL of the backfill tests; they are skipped, and say so, where it is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backfill_job import Table

from connect.services import ArtifactError, KafkaEndpoint
from connect.services.postgres import PostgresService
from connect.services.sql import SqlEndpoint


@pytest.fixture(scope="session")
def backfill_postgres() -> Iterator[SqlEndpoint]:
    pytest.importorskip("psycopg", reason="pip install 'psycopg[binary]'")
    service = PostgresService()
    try:
        service.prepare()
    except ArtifactError as missing:
        pytest.skip(str(missing))
    with service:
        yield service.endpoint


@pytest.fixture
def table(backfill_postgres: SqlEndpoint, kafka: KafkaEndpoint, unique: str) -> Iterator[Table]:
    made = Table(backfill_postgres, kafka, unique)
    yield made
    made.engine.dispose()
