"""YARN and Kubernetes run the lanes by the packaged environment; an executor is killed in the middle of the table.

YARN is Hadoop's own. Of Kubernetes there is its API alone, and executors are processes: no scheduler, no image.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backfill_job import Table
from click.testing import CliRunner
from cluster_job import ROWS, Person, moved_though_an_executor_dies
from e2e_worker import WorkerProcess, wait_for
from kubernetes_api import kubernetes
from spark_cluster import SPARK
from yarn_cluster import yarn_cluster

from connect.cli.backfill import backfill
from connect.tools.services import KafkaEndpoint

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


def test_yarn_moves_a_table_and_an_executor_that_is_killed_repeats_no_row(
    table: Table, person: Callable[..., Person], tmp_path: Path
):
    table.fill(ROWS)
    with yarn_cluster(tmp_path / "yarn") as yarn:
        by_yarn = person(HADOOP_CONF_DIR=str(yarn.conf))
        conf = {"spark.yarn.jars": f"local:{SPARK}/jars/*", "spark.yarn.stagingDir": str(tmp_path / "staging")}
        by_yarn.write_job(table, "yarn", {**conf, "spark.executor.memory": "8g"})
        refused = by_yarn.type(*by_yarn.run)
        assert refused.returncode == 1
        assert "above the max threshold" in refused.stderr
        assert "ask for less (conf: spark.executor.memory" in refused.stderr
        assert "FAILED" in by_yarn.type("status", "job.yaml").stdout

        by_yarn.write_job(table, "yarn", conf)
        moved_though_an_executor_dies(table, by_yarn, yarn.executors, yarn.containers)
        wait_for(lambda: yarn.succeeded() == 1, 60, "YARN's own word that the application succeeded")


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
