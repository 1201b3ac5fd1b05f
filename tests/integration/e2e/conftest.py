"""One worker for the tests that do no harm to it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint


@pytest.fixture(scope="session")
def worker(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, f"e2e-{secrets.token_hex(3)}")
    process.start()
    yield process
    process.stop()
