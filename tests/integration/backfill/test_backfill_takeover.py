"""Kills the process of a worker that runs a backfill, then the worker; a second one goes on, and every row comes
once.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from backfill_job import Table
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

ROWS = 1200


def backfill(worker: WorkerProcess, name: str) -> dict[str, Any]:
    return requests.get(f"{worker.url}/backfills/{name}", timeout=60).json()


def port_of(place: str) -> str:
    """Of a worker's address or id."""
    return place.rpartition(":")[2]


def done(worker: WorkerProcess, table: Table) -> int:
    """How many chunks are in Kafka."""
    return backfill(worker, table.name)["progress"]["chunks_done"]


def child_of(worker: WorkerProcess) -> psutil.Process:
    """The process that runs the backfill: its lanes are processes below it."""
    return next(p for p in psutil.Process(worker.pid).children() if "connect.backfill.child" in p.cmdline())


@pytest.mark.chaos
def test_a_backfill_goes_on_when_its_process_is_killed_and_then_the_worker_that_runs_it(
    table: Table, kafka: KafkaEndpoint, tmp_path: Path
) -> None:
    table.fill(ROWS)
    with ExitStack() as stack:
        workers = {}
        for number in (1, 2):
            worker = WorkerProcess(tmp_path / str(number), kafka.bootstrap_servers, f"takeover-{table.name}")
            worker.start()
            stack.callback(worker.stop)
            workers[port_of(worker.url)] = worker
        first, second = workers.values()
        connector = {"name": table.name, "config": table.connector(), "initial_state": "STOPPED"}
        wait_for(
            lambda: requests.post(f"{first.url}/connectors", json=connector, timeout=60).status_code in {201, 409},
            60, "the connector",
        )  # fmt: skip
        spec = {
            "apiVersion": "backfill/v1", "name": table.name, "source": {"connector": table.name},
            "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 100, "lanes": 2},
            "limits": {"max_rows_per_second": 40},
        }  # fmt: skip
        made = requests.post(f"{first.url}/backfills", json=spec, timeout=90)
        assert made.status_code == 201, made.text
        assert workers[port_of(made.json()["worker"])] is first
        wait_for(lambda: done(second, table) >= 1, 60, "the first chunk")
        os.kill(child_of(first).pid, signal.SIGKILL)
        before = done(second, table)
        wait_for(lambda: done(second, table) > before, 60, "a chunk behind the process that was killed")
        runner = workers[port_of(backfill(second, table.name)["worker"])]
        other = second if runner is first else first
        runner.kill()
        wait_for(lambda: backfill(other, table.name)["runs_here"], 60, "the other worker runs it")
        wait_for(lambda: workers[port_of(backfill(other, table.name)["worker"])] is other, 60, "its name is in the job")
        assert backfill(other, table.name)["limits"]["max_rows_per_second"] > 0
        requests.patch(f"{other.url}/backfills/{table.name}/limits", json={"max_rows_per_second": 0}, timeout=60)
        assert backfill(other, table.name)["limits"]["max_rows_per_second"] == 0
        wait_for(lambda: backfill(other, table.name)["state"] == "COPIED", 90, "the job's end")
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
        verdict = requests.post(f"{other.url}/backfills/{table.name}/verify", timeout=90).json()
        assert (verdict["good"], verdict["missing"], verdict["twice"]) == (True, 0, 0)
