"""One emulated BigQuery for the tests of a process; where Python 3.13 is missing they skip, and say so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bigquery_dataset import Dataset

from connect.services import BigQueryService, PythonNotFoundError


@pytest.fixture(scope="session")
def bigquery_service() -> Iterator[BigQueryService]:
    service = BigQueryService()
    try:
        service.prepare()
    except PythonNotFoundError as error:
        pytest.skip(f"BIGQUERY IS NOT TESTED: the emulator cannot run here. {error}")
    with service:
        yield service


@pytest.fixture
def dataset(bigquery_service: BigQueryService, unique: str) -> Iterator[Dataset]:
    """A dataset of this test alone."""
    with Dataset(bigquery_service.endpoint, unique) as made:
        yield made
