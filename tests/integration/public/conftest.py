"""Provides a worker and a MySQL for public configurations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_worker import WorkerProcess
from public_rows import Topics
from sql_services import installed

from connect.tools.services import KafkaEndpoint, RegistryEndpoint
from connect.tools.services.mysql import MySqlService
from connect.tools.services.sql import SqlEndpoint


@pytest.fixture
def worker(kafka: KafkaEndpoint, tmp_path: Path, unique: str) -> Iterator[WorkerProcess]:
    made = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, unique, slots="32")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def topics(kafka: KafkaEndpoint, registry: RegistryEndpoint) -> Topics:
    return Topics(kafka.bootstrap_servers, registry.url)


@pytest.fixture(scope="module")
def mysql() -> Iterator[SqlEndpoint]:
    with installed(MySqlService()) as service:
        yield service.endpoint
