"""A dataset per test: of the emulator, or of Google's service where `make test-bigquery` names a project."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from bigquery_dataset import Dataset


@pytest.fixture
def dataset(request: pytest.FixtureRequest, unique: str) -> Iterator[Dataset]:
    """A dataset of this test alone."""
    project = os.environ.get("CONNECT_BIGQUERY_PROJECT")
    if project:
        name, endpoint = f"{os.environ['CONNECT_BIGQUERY_DATASET']}_{unique}", None
    else:
        endpoint = request.getfixturevalue("bigquery_service").endpoint
        project, name = endpoint.project, unique
    with Dataset(project, name, endpoint) as made:
        yield made
