"""Two workers: the one that runs a backfill is killed, or the process in which it runs it; every row comes once."""

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

from connect.services import KafkaEndpoint

ROWS = 1600


def backfill(worker: WorkerProcess, name: str) -> dict[str, Any]:
    return requests.get(f"{worker.url}/backfills/{name}", timeout=60).json()


def child_of(worker: WorkerProcess) -> psutil.Process:
    """The process that runs the backfill: its lanes are processes below it."""
    spawned = (p for p in psutil.Process(worker.pid).children() if "spawn_main" in " ".join(p.cmdline()))
    return next(p for p in spawned if p.children())


@pytest.mark.parametrize("who", ["worker", "process"])
def test_a_backfill_goes_on_when_who_runs_it_is_killed(
    table: Table, kafka: KafkaEndpoint, who: str, tmp_path: Path
) -> None:
    table.fill(ROWS)
    with ExitStack() as stack:
        workers = []
        for number in (1, 2):
            worker = WorkerProcess(tmp_path / str(number), kafka.bootstrap_servers, f"takeover-{table.name}")
            worker.start()
            stack.callback(worker.stop)
            workers.append(worker)
        first, second = workers
        connector = {"name": table.name, "config": table.connector(), "initial_state": "STOPPED"}
        wait_for(
            lambda: requests.post(f"{first.url}/connectors", json=connector, timeout=60).status_code in {201, 409},
            60, "the connector",
        )  # fmt: skip
        spec = {
            "apiVersion": "backfill/v1", "name": table.name, "source": {"connector": table.name},
            "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 200, "lanes": 2},
            "limits": {"max_rows_per_second": 200},
        }  # fmt: skip
        made = requests.post(f"{first.url}/backfills", json=spec, timeout=90)
        assert made.status_code == 201, made.text
        ran_by = made.json()["worker"]
        wait_for(lambda: backfill(second, table.name)["progress"]["chunks_done"] >= 2, 60, "the first chunks")
        if who == "worker":
            first.kill()
            wait_for(lambda: backfill(second, table.name)["runs_here"], 60, "the other worker runs it")
            wait_for(lambda: backfill(second, table.name)["worker"] != ran_by, 60, "its name is in the job")
        else:
            os.kill(child_of(first).pid, signal.SIGKILL)
        wait_for(lambda: backfill(second, table.name)["state"] == "COPIED", 90, "the job's end")
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
        verdict = requests.post(f"{second.url}/backfills/{table.name}/verify", timeout=90).json()
        assert (verdict["good"], verdict["missing"], verdict["twice"]) == (True, 0, 0)
