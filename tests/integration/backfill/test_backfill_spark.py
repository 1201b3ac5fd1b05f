"""Kills Python workers of the engine spark in the middle of chunks, whose tasks run again: every row comes once."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from backfill_job import KillEachStepOnce, Table
from spark_cluster import standalone_cluster

from connect.api.errors import ConnectError
from connect.backfill.driver import Driver
from connect.backfill.engines import spark_errors
from connect.backfill.engines.spark import SparkEngine, spark_settings
from connect.backfill.job.chunk import Step
from connect.backfill.job.spec import BackfillSpec, Engine
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.runtime.settings.worker_config import WorkerConfig

ROWS = 4000
HERE = {"spark.executorEnv.PYTHONPATH": str(Path(__file__).parent)}
"""Where Spark's Python workers find this test's modules."""
LOOPBACK = {
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m"
}  # fmt: skip


@pytest.mark.parametrize(
    "steps", [(Step.MARKER_SENT,), pytest.param((Step.ROWS_SENT, Step.COMMITTED), marks=pytest.mark.chaos)]
)
def test_lanes_whose_python_workers_are_killed_are_run_again_by_spark(table: Table, tmp_path, steps: tuple[Step, ...]):
    table.fill(ROWS)
    kills = KillEachStepOnce(tmp_path, steps)
    with table.driver(engine={"type": "spark", "master": "local[2,4]", "conf": HERE}) as driver:
        job = driver.run(SparkEngine(driver.spec.engine, driver.spec.name, kills))
        assert job.state is JobState.COPIED
        assert kills.killed_at == {step.name for step in steps}
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
        assert verify(driver).is_good


@pytest.mark.chaos
@pytest.mark.parametrize("master", ["standalone", "local-cluster[2,1,1024]"])
def test_an_executor_that_is_killed_in_the_middle_of_a_chunk_repeats_no_row(table: Table, master: str, tmp_path):
    table.fill(ROWS)
    kills = KillEachStepOnce(tmp_path / "kills", (Step.MARKER_SENT,), whose="executor")
    kills.notes.mkdir()
    with ExitStack() as stack:
        if master == "standalone":
            master = stack.enter_context(standalone_cluster(tmp_path))
        conf = {**HERE, **LOOPBACK}
        driver = stack.enter_context(table.driver(engine={"type": "spark", "master": master, "conf": conf}))
        job = driver.run(SparkEngine(driver.spec.engine, driver.spec.name, kills))
        assert job.state is JobState.COPIED
        assert kills.killed_at == {"MARKER_SENT"}
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
        assert verify(driver).is_good


@pytest.mark.chaos
def test_an_executor_that_is_killed_too_often_fails_the_job_which_goes_on_elsewhere(table: Table, tmp_path: Path):
    table.fill(ROWS)
    kills = KillEachStepOnce(tmp_path, (Step.MARKER_SENT,), whose="executor")
    conf = {**HERE, **LOOPBACK, "spark.task.maxFailures": "1"}
    engine = {"type": "spark", "master": "local-cluster[2,1,1024]", "conf": conf}
    with table.driver(engine=engine) as driver:
        with pytest.raises(ConnectError, match=r"ExecutorLostFailure.*their logs say why.*the same command goes on"):
            driver.run(SparkEngine(driver.spec.engine, driver.spec.name, kills))
        assert driver.ownership.require_known().state is JobState.FAILED
    with table.driver() as driver:
        assert driver.run().state is JobState.COPIED
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


def error_of(worker: dict[str, str], connector: dict[str, str], spec: dict[str, Any], answers: Connection) -> None:
    """Run a job, and tell what it failed with."""
    with Driver(BackfillSpec.model_validate(spec), WorkerConfig.parse(worker), connector) as driver:
        try:
            answers.send(driver.run().state)
        except ConnectError as error:
            answers.send(str(error))


@pytest.mark.chaos
def test_a_driver_whose_disk_is_full_says_so_and_the_job_goes_on_elsewhere(table: Table):
    """A device that takes no folders stands for the disk: Spark's JVM ends itself, as it does on a full one."""
    table.fill(ROWS)
    full = {"type": "spark", "master": "local[2,4]", "conf": {"spark.local.dir": "/dev/full/spark"}}
    spec = table.spec(engine=full).model_dump(mode="json", by_alias=True)
    # A process of its own: a JVM that has ended cannot be started again in the same one.
    context = multiprocessing.get_context("spawn")
    answers, theirs = context.Pipe()
    running = context.Process(target=error_of, args=(table.worker_properties(), table.connector(), spec, theirs))
    running.start()
    assert answers.poll(120)
    told = answers.recv()
    running.join(30)
    assert "Spark's JVM on this machine has ended" in told
    assert "full disk" in told
    assert table.driver().ownership.require_known().state is JobState.FAILED
    assert table.ids() == []
    with table.driver() as driver:
        assert driver.run().state is JobState.COPIED
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


def test_spark_is_started_with_what_keeps_lanes_apart_and_the_spec_on_top():
    settings = spark_settings(Engine(master="local[2,4]", conf={"spark.ui.enabled": "true"}))
    assert settings["spark.speculation"] == "false"
    assert settings["spark.ui.enabled"] == "true"
    assert "spark.jars.packages" not in settings, "Spark would ask Maven, and not start without it"


def test_a_machine_without_java_is_told_what_to_do(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(spark_errors.shutil, "which", lambda _name: None)
    with pytest.raises(ConnectError, match=r"needs Java 17.*engine: \{type: local\}"):
        SparkEngine(Engine(), "job")
