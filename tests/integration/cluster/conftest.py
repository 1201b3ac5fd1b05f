"""Provides workers as real processes that are asked over HTTP."""

import tempfile

import pytest
import yaml
from cluster_worker import JSON_CONVERTER, WorkerProcess
from e2e_worker import FEW_PARTITIONS


@pytest.fixture
def worker_keys(kafka, unique):
    keys = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": f"{unique}-group",
        "listeners": "http://127.0.0.1:0",
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "value.converter.schemas.enable": "false",
        "offset.flush.interval.ms": "500",
        "task.shutdown.graceful.timeout.ms": "2000",
        "allowed.paths": tempfile.gettempdir(),
        **FEW_PARTITIONS,
    }
    for name in ("config", "offset", "status"):
        keys[f"{name}.storage.topic"] = f"{unique}-{name}s"
        keys[f"{name}.storage.replication.factor"] = "1"
    return keys


@pytest.fixture
def start_worker(worker_keys, tmp_path):
    """Yield a function that starts workers of one cluster; those that still run are killed in the end."""
    workers = []

    def start(*arguments, cold=False, **keys):
        file = tmp_path / f"worker-{len(workers)}.yaml"
        file.write_text(yaml.safe_dump({**worker_keys, **keys}), encoding="utf-8")
        workers.append(WorkerProcess(file, tmp_path / f"worker-{len(workers)}.log", *arguments, cold=cold))
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


@pytest.fixture
def worker(start_worker):
    return start_worker().ready()
