"""Acts as a person who runs a backfill on a cluster by commands alone; an executor of the cluster dies in the middle of
it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from backfill_job import Table
from e2e_worker import WorkerProcess, wait_for

ROWS = 6000
ROWS_PER_S = 100
"""All rows would take a minute at this rate, and an executor is killed long before that."""


@dataclass(frozen=True)
class Person:
    """Types `connect backfill` in a folder with the environment's archive, and creates the connector on a worker."""

    folder: Path
    worker: WorkerProcess
    environ: Mapping[str, str]

    def type(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv, environ = self._command(*words)
        return subprocess.run(
            argv, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=240, check=False
        )

    def start(self, log: Path, *words: str) -> subprocess.Popen[bytes]:
        """Start a command that runs beside others; its output goes to `log`."""
        argv, environ = self._command(*words)
        with log.open("wb") as printed:
            return subprocess.Popen(argv, cwd=self.folder, env=environ, stdout=printed, stderr=printed)

    def _command(self, *words: str) -> tuple[list[str], dict[str, str]]:
        argv = [sys.executable, "-m", "connect.cli", "backfill", *words, "--worker", "worker.properties"]
        return argv, {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **self.environ}

    @property
    def run(self) -> tuple[str, ...]:
        return ("run", "job.yaml", "--url", self.worker.url)

    def write_job(self, table: Table, master: str, conf: Mapping[str, str]) -> None:
        """Write a job for two executors of one core each, with a lane on each."""
        properties = "".join(f"{key}={text}\n" for key, text in self.worker.properties.items())
        (self.folder / "worker.properties").write_text(properties)
        (self.folder / "c.json").write_text(json.dumps({"name": table.name, "config": table.connector()}))
        common = {"spark.executor.instances": "2", "spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
        job = {
            "apiVersion": "backfill/v1", "name": table.name, "source": {"connector": table.name, "config": "c.json"},
            "engine": {"master": master, "python_env": "env.tar.gz", "conf": {**common, **conf}},
            "chunking": {"rows": 100, "lanes": 2}, "limits": {"max_rows_per_second": ROWS_PER_S},
            "state": {"jobs_topic": f"{table.name}-jobs"},
        }  # fmt: skip
        (self.folder / "job.yaml").write_text(json.dumps(job))


def moved_though_an_executor_dies(
    table: Table, person: Person, executors: Callable[[], list[psutil.Process]], containers: Path
) -> None:
    """Run the job, kill the JVM of an executor with a lane, and check that each row came once.

    `containers` is the folder in which each container or pod has its own folder.
    """
    log = person.folder / "run.log"
    running = person.start(log, *person.run)
    try:
        wait_for(lambda: table.ids() or running.poll() is not None, 240, "the first rows")
        assert running.poll() is None, log.read_text()[-4000:]
        python = wait_for(lambda: next(pythons(executors()), None), 60, "an executor with a lane")
        assert command_of(python)[0] == "./env/bin/python"
        assert Path(python.cwd()).is_relative_to(containers)
        python.parent().kill()
        assert 0 < len(table.ids()) < ROWS
        lifted = person.type("limit", "job.yaml", "--max-rows-per-second", "0")
        assert lifted.returncode == 0, lifted.stderr
        assert running.wait(240) == 0, log.read_text()[-4000:]
    finally:
        running.kill()
    assert f"backfill {table.name} is COPIED" in log.read_text()
    assert "Lost executor" in log.read_text()
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
    verified = person.type("verify", "job.yaml")
    assert verified.returncode == 0, verified.stdout


def pythons(executors: Iterable[psutil.Process]) -> Iterator[psutil.Process]:
    """Yield the Python process below each executor that runs its lanes."""
    below = (child for executor in executors for child in executor.children())
    return (child for child in below if "pyspark.daemon" in command_of(child))


def command_of(process: psutil.Process) -> list[str]:
    """Return the words of a process's command line; none if it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
