"""Gives commands to jobs that have ended or whose driver was killed; each command says what state the job is in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from backfill_job import OneAfterTheOther, Table
from click.testing import CliRunner
from e2e_worker import wait_for

from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import JobSignal
from connect.backfill.job.states import JobState
from connect.cli.backfill import backfill
from connect.lib.deadline import Deadline

ROWS = 1500
Typed = Callable[..., str]


@pytest.fixture
def typed(table: Table, tmp_path: Path) -> Typed:
    """Types a command about the table's job. Returns what it prints, of which all ends well or is an error."""
    (tmp_path / "c.json").write_text(json.dumps({"name": table.name, "config": table.connector()}))
    (tmp_path / "worker.properties").write_text("".join(f"{k}={v}\n" for k, v in table.worker_properties().items()))
    (tmp_path / "job.yaml").write_text(
        f"apiVersion: backfill/v1\nname: {table.name}\nsource: {{connector: {table.name}, config: c.json}}\n"
        "engine: {type: local, processes: 1}\nchunking: {rows: 50, lanes: 1}\n"
        f"state: {{jobs_topic: {table.name}-jobs}}\nlimits: {{max_rows_per_second: 50}}\n"
    )

    def run(act: str, *, code: int = 0) -> str:
        words = [act, str(tmp_path / "job.yaml"), "--worker", str(tmp_path / "worker.properties")]
        done = CliRunner().invoke(backfill, words)
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    return run


def test_a_copied_job_is_not_cancelled_and_says_what_to_do(table: Table, typed: Typed) -> None:
    table.fill(10)
    with table.driver() as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
    for act in ("cancel", "pause", "resume", "limit"):
        said = typed(act, code=1)
        assert "is COPIED: every chunk is in Kafka" in said
        assert f"`connect backfill handover {table.name}`" in said
    with table.driver() as again:
        assert again.run(OneAfterTheOther()).state is JobState.COPIED
        assert again.ownership.require_known().state is JobState.COPIED


def test_a_job_whose_driver_was_killed_is_cancelled_for_good(table: Table, typed: Typed, tmp_path: Path) -> None:
    table.fill(ROWS)
    words = ["resume", "job.yaml", "--worker", "worker.properties"]
    command = [sys.executable, "-m", "connect.cli", "backfill", *words]
    with (tmp_path / "run.log").open("wb") as log:
        driver = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
    try:
        wait_for(table.ids, 180, lambda: f"the first chunk: {(tmp_path / 'run.log').read_text()[-2000:]}")
    finally:
        for process in [*psutil.Process(driver.pid).children(recursive=True), psutil.Process(driver.pid)]:
            os.kill(process.pid, signal.SIGKILL)
        driver.wait(30)
    assert "is RUNNING" in typed("handover", code=1)
    # The owner said that it ends, and died before it was written.
    table.driver().store.say(JobSignal(table.name, Signal.CANCEL), Deadline.after(30))
    assert typed("cancel") == f"backfill {table.name} is CANCELLED\n"
    written = Counter(table.ids())
    assert 0 < len(written) < ROWS
    assert max(written.values()) == 1
    for act in ("run", "resume", "pause", "limit", "handover"):
        assert "is CANCELLED: it was cancelled for good" in typed(act, code=1)
    assert typed("cancel") == f"backfill {table.name} is CANCELLED\n", "who asks again is told the same"
    assert Counter(table.ids()) == written
