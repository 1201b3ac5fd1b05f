"""Pods of Kubernetes run the lanes by the packaged environment; one is killed in the middle of the table.

Of Kubernetes there is its API alone, and executors are processes: no scheduler, no image.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backfill_job import Table
from click.testing import CliRunner
from cluster_job import ROWS, Person, moved_though_an_executor_dies
from e2e_worker import WorkerProcess
from kubernetes_api import kubernetes

from connect.cli.backfill import backfill
from connect.services import KafkaEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("archive") / "env.tar.gz"
    done = CliRunner().invoke(backfill, ["package", str(made), "--extra", "jdbc-postgres"])
    assert done.exit_code == 0, done.output
    return made


@pytest.fixture
def person(tmp_path: Path, archive: Path, kafka: KafkaEndpoint, unique: str) -> Iterator[Callable[..., Person]]:
    worker = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, unique)
    worker.start()
    os.link(archive, tmp_path / "env.tar.gz")
    yield lambda **environ: Person(tmp_path, worker, environ)
    worker.stop()


def test_pods_move_a_table_and_one_that_is_killed_repeats_no_row(
    table: Table, person: Callable[..., Person], tmp_path: Path
):
    table.fill(ROWS)
    with kubernetes(tmp_path / "pods") as cluster:
        by_pods = person()
        conf = {
            "spark.kubernetes.container.image": "registry.example/spark:4.3.0",
            "spark.kubernetes.executor.enableApiWatcher": "false",
            "spark.kubernetes.executor.apiPollingInterval": "1s",
        }
        by_pods.write_job(table, cluster.master, conf)
        moved_though_an_executor_dies(table, by_pods, cluster.executors, cluster.folder)
        assert cluster.resources == {}, "Spark takes away what it made"
