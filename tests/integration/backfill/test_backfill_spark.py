"""Engine spark: Python workers are killed in the middle of chunks, and their tasks run again; every row comes once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from backfill_job import KillEachStepOnce, Table
from spark_cluster import standalone_cluster

from connect.api.errors import ConnectError
from connect.backfill.chunk import Step
from connect.backfill.engines import spark
from connect.backfill.engines.spark import SparkEngine, spark_settings
from connect.backfill.job import JobState
from connect.backfill.spec import Engine
from connect.backfill.verify import verify

ROWS = 4000
HERE = {"spark.executorEnv.PYTHONPATH": str(Path(__file__).parent)}
"""Where Spark's Python workers find this test's modules."""


def test_lanes_whose_python_workers_are_killed_are_run_again_by_spark(table: Table, tmp_path):
    table.fill(ROWS)
    kills = KillEachStepOnce(tmp_path, steps=(Step.MARKER_SENT, Step.COMMITTED))
    with table.driver(engine={"type": "spark", "master": "local[2,4]", "conf": HERE}) as driver:
        job = driver.run(SparkEngine(driver.spec.engine, driver.spec.name, kills))
        assert job.state is JobState.COPIED
        assert kills.killed_at == {"MARKER_SENT", "COMMITTED"}
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
        conf = {
            **HERE, "spark.executor.memory": "512m",
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        }  # fmt: skip
        driver = stack.enter_context(table.driver(engine={"type": "spark", "master": master, "conf": conf}))
        job = driver.run(SparkEngine(driver.spec.engine, driver.spec.name, kills))
        assert job.state is JobState.COPIED
        assert kills.killed_at == {"MARKER_SENT"}
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
        assert verify(driver).is_good


def test_a_driver_whose_disk_is_full_says_so_and_the_job_goes_on_elsewhere(table: Table, tmp_path: Path):
    """A device that takes no folders stands for the disk: Spark's JVM ends itself, as it does on a full one."""
    table.fill(ROWS)
    worker, spec, config = (tmp_path / name for name in ("worker.properties", "job.yaml", "c.json"))
    worker.write_text("".join(f"{key}={text}\n" for key, text in table.worker_properties().items()))
    config.write_text(json.dumps({"name": table.name, "config": table.connector()}))
    spec.write_text(
        f"apiVersion: backfill/v1\nname: {table.name}\nsource: {{connector: {table.name}, config: c.json}}\n"
        f"engine: {{master: 'local[2,4]', conf: {{spark.local.dir: /dev/full/spark}}}}\n"
        f"chunking: {{rows: 500, lanes: 2}}\nstate: {{jobs_topic: {table.name}-jobs}}\n"
    )
    # A process of its own: a JVM that has ended cannot be started again in the same one.
    argv = [sys.executable, "-m", "connect.cli", "backfill", "run", str(spec), "--worker", str(worker)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert "Spark's JVM on this machine has ended" in done.stderr
    assert "full disk" in done.stderr
    assert "Traceback" not in done.stderr
    assert table.driver().require_known().state is JobState.FAILED
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
    monkeypatch.setattr(spark.shutil, "which", lambda _name: None)
    with pytest.raises(ConnectError, match=r"needs Java 17.*engine: \{type: local\}"):
        SparkEngine(Engine(), "job")
