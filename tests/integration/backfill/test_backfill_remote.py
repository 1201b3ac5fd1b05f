"""A Spark Connect server, from PySpark's own files, runs the lanes; the driver is a thin client without Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from backfill_job import Table
from spark_cluster import SPARK

from connect.tools.services.process.polling import poll_until
from connect.tools.services.process.ports import accepts_connections, free_ports
from connect.tools.services.process.process import Command, SupervisedProcess

ROWS = 1000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    (port,) = free_ports(1)
    environ = {
        "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
        "PATH": os.environ["PATH"],
    }  # fmt: skip
    argv = [
        str(SPARK / "bin" / "spark-submit"), "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master", "local[2,4]", "--conf", f"spark.connect.grpc.binding.port={port}", "--conf",
        "spark.ui.enabled=false", "spark-internal",
    ]  # fmt: skip
    log = tmp_path / "connect-server.log"
    process = SupervisedProcess(Command(argv, tmp_path, log, environ))
    try:
        poll_until(
            lambda: accepts_connections(port), deadline_s=90, waiting_for="Spark Connect's server", fix=f"See {log}"
        )
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.stop(5.0)


def ran(table: Table, folder: Path, remote: str) -> subprocess.CompletedProcess[str]:
    """`connect backfill resume` without Java."""
    worker, spec, config = (folder / name for name in ("worker.properties", "job.yaml", "c.json"))
    worker.write_text("".join(f"{key}={text}\n" for key, text in table.worker_properties().items()))
    config.write_text(json.dumps({"name": table.name, "config": table.connector()}))
    spec.write_text(
        f"apiVersion: backfill/v1\nname: {table.name}\nsource: {{connector: {table.name}, config: c.json}}\n"
        f"engine: {{type: spark, remote: '{remote}'}}\nchunking: {{rows: 250, lanes: 2}}\n"
        f"state: {{jobs_topic: {table.name}-jobs}}\n"
    )
    argv = [sys.executable, "-m", "connect.cli", "backfill", "resume", str(spec), "--worker", str(worker)]
    environ = {key: value for key, value in os.environ.items() if key not in {"JAVA_HOME", "PATH"}}
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200, env=environ)


def test_a_spark_connect_server_moves_a_table(table: Table, server: str, tmp_path: Path) -> None:
    table.fill(ROWS)
    done = ran(table, tmp_path, server)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert f"backfill {table.name} is COPIED" in done.stdout
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


def test_a_server_that_does_not_answer_is_told_at_once(table: Table, tmp_path: Path) -> None:
    table.fill(10)
    (port,) = free_ports(1)
    done = ran(table, tmp_path, f"sc://127.0.0.1:{port}")
    assert done.returncode == 1
    assert f"Connect server 127.0.0.1:{port} does not answer" in done.stderr
    assert "start-connect-server.sh" in done.stderr
