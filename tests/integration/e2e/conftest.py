"""Provides one worker for tests that do it no harm, and flows of rows for tests that harm brokers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from bigquery_dataset import Dataset
from e2e_backfill import BackfillFlow
from e2e_brokers import ThreeBrokers
from e2e_copies import CopiesFlow
from e2e_flow import Flow
from e2e_pipeline import Pipeline, WarehousePipeline
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint


@pytest.fixture(scope="session")
def worker(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, f"e2e-{secrets.token_hex(3)}")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def make_flow(
    request: pytest.FixtureRequest, tmp_path: Path, unique: str
) -> Iterator[Callable[[str, ThreeBrokers], Flow]]:
    """Yield a function that makes the flow of a part of the product; the flow has not begun."""
    with ExitStack() as stack:

        def made(part: str, brokers: ThreeBrokers) -> Flow:
            if part == "copies":
                return CopiesFlow(brokers, tmp_path, unique)
            if part == "backfill":
                return BackfillFlow(brokers, tmp_path, unique)
            store = request.getfixturevalue("s3"), request.getfixturevalue("s3_bucket")
            if part == "s3":
                return Pipeline(brokers, *store, tmp_path, unique)
            endpoint = request.getfixturevalue("bigquery_service").endpoint
            dataset = stack.enter_context(Dataset(endpoint.project, unique, endpoint))
            return WarehousePipeline(brokers, *store, tmp_path, unique, dataset)

        yield made
