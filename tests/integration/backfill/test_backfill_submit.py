"""Checks what Spark's own code would submit to Kubernetes and to YARN; nothing leaves this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from spark_cluster import SPARK

from connect.backfill.engines.spark import spark_settings
from connect.backfill.job.spec import Engine


@pytest.mark.parametrize("master", ["yarn", "k8s://http://127.0.0.1:1"])
def test_an_archive_and_the_python_in_it_are_submitted(tmp_path: Path, master: str):
    archive, program = tmp_path / "env.tar.gz", tmp_path / "nothing.py"
    archive.write_bytes(b"")
    program.write_text("print('ran')")
    engine = Engine(master=master, python_env=str(archive), conf={"spark.executor.instances": "7"})
    told = [text for key, value in spark_settings(engine).items() for text in ("--conf", f"{key}={value}")]
    # The program of the test runs here; executors have the archive's Python.
    told += ["--conf", f"spark.pyspark.driver.python={sys.executable}"]
    argv = [str(SPARK / "bin" / "spark-submit"), "--verbose", "--master", master, *told, str(program)]
    environ = {"HADOOP_CONF_DIR": str(tmp_path), "SPARK_HOME": str(SPARK), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(argv, env={**os.environ, **environ}, capture_output=True, text=True, timeout=120, check=False)
    assert "ran" in done.stdout, done.stderr
    submitted = dict(re.findall(r"^\((spark\.[\w.]+),(.*)\)$", done.stderr, re.MULTILINE))
    assert submitted["spark.executor.instances"] == "7"
    assert submitted["spark.pyspark.python"] == "./env/bin/python"
    assert submitted["spark.speculation"] == "false"
    assert submitted["spark.task.maxFailures"] == "8"
    named = "spark.yarn.dist.archives" if master == "yarn" else "spark.archives"
    assert submitted[named].endswith("env.tar.gz#env")
