"""Sends the alert about the end of a backfill to a receiver that at first is away, slow and broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from backfill_job import Table
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint
from connect.tools.services.process.ports import free_ports

RECEIVER = Path(__file__).parents[1] / "cluster" / "alert_receiver.py"


class Receiver:
    """Takes alerts once it is started: the first ones late, with an error and with a redirect."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._port, self._log, self._stack = free_ports(1)[0], folder / "alerts.jsonl", stack
        self.url = f"http://127.0.0.1:{self._port}/alerts"

    def start(self) -> None:
        process = self._stack.enter_context(
            subprocess.Popen([sys.executable, str(RECEIVER), str(self._port), str(self._log)])
        )
        self._stack.callback(process.kill)

    def told(self) -> list[dict[str, Any]]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.loads(one["body"]) for one in map(json.loads, lines) if one["status"] == 200]


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with ExitStack() as stack:
        yield Receiver(tmp_path, stack)


@pytest.fixture
def workers(kafka: KafkaEndpoint, tmp_path: Path, unique: str, receiver: Receiver) -> Iterator[list[WorkerProcess]]:
    keys = {"alerts.webhook.url": receiver.url}
    made = [WorkerProcess(tmp_path / name, kafka.bootstrap_servers, unique, **keys) for name in ("one", "two")]
    for worker in made:
        worker.start()
    yield made
    for worker in made:
        worker.stop()


def failed_tries(worker: WorkerProcess) -> float:
    name, lines = "kafka_connect_alerts_failed_total ", requests.get(f"{worker.url}/metrics", timeout=60).text
    return sum(float(line.split()[-1]) for line in lines.splitlines() if line.startswith(name))


def call(worker: WorkerProcess, method: str, path: str, body: Any = None) -> requests.Response:
    return requests.request(method, worker.url + path, json=body, timeout=90)


def test_a_copied_backfill_is_told_once_also_where_the_leader_dies_before_anybody_took_it(
    table: Table, workers: list[WorkerProcess], receiver: Receiver
) -> None:
    table.fill(1000)
    stopped = {"name": table.name, "config": table.connector(), "initial_state": "STOPPED"}
    assert call(workers[0], "POST", "/connectors", stopped).status_code == 201
    spec = {
        "apiVersion": "backfill/v1", "name": table.name, "source": {"connector": table.name},
        "engine": {"type": "local"}, "chunking": {"rows": 500, "lanes": 1},
    }  # fmt: skip
    assert call(workers[0], "POST", "/backfills", spec).status_code == 201
    (leader,) = wait_for(lambda: [one for one in workers if failed_tries(one)], 240, "a try to tell of the job's end")
    (other,) = (worker for worker in workers if worker is not leader)
    leader.kill()
    receiver.start()

    wait_for(receiver.told, 240, lambda: f"an alert; {other.log_tail()}")
    assert call(other, "POST", f"/backfills/{table.name}/handover").status_code == 202
    (alert,) = receiver.told()
    assert (alert["event"], alert["state"], alert["backfill"]) == ("backfill_copied", "firing", table.name)
    assert alert["reason"] == "It is copied: 1,000 rows."
    assert alert["connector"] is None
