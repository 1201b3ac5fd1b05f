"""Provides a dataset for each test: of the emulator, or of Google's service if `make test-bigquery` names a project."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from bigquery_dataset import Dataset
from bigquery_faults import FaultProxy

from connect.tools.services import BigQueryService


@pytest.fixture
def dataset(request: pytest.FixtureRequest, unique: str) -> Iterator[Dataset]:
    """Yield a dataset that only this test uses."""
    project = os.environ.get("CONNECT_BIGQUERY_PROJECT")
    if project:
        name, endpoint = f"{os.environ['CONNECT_BIGQUERY_DATASET']}_{unique}", None
    else:
        endpoint = request.getfixturevalue("bigquery_service").endpoint
        project, name = endpoint.project, unique
    with Dataset(project, name, endpoint) as made:
        yield made


@pytest.fixture
def proxy(dataset: Dataset) -> Iterator[FaultProxy]:
    """Yield a proxy before the emulator. Google's service allows no faults, so these tests are skipped there."""
    if not dataset.is_emulated:
        pytest.skip("ON THE EMULATOR ALONE: Google's service is spoken to without a proxy.")
    with FaultProxy(dataset.settings()["bigquery.endpoint"]) as made:
        yield made


@pytest.fixture
def emulator(dataset: Dataset, request: pytest.FixtureRequest) -> BigQueryService:
    """Return the emulator itself, for tests that kill it."""
    if not dataset.is_emulated:
        pytest.skip("ON THE EMULATOR ALONE: Google's service is not to be killed.")
    service: BigQueryService = request.getfixturevalue("bigquery_service")
    return service
