"""Backfills a table into a topic over three brokers with a worker, slowly enough to leave time for faults."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import requests
from committed_ids import CommittedIds
from e2e_brokers import ThreeBrokers
from e2e_flow import WAIT_S, Flow
from e2e_orders import source_config
from e2e_secured import Right
from e2e_worker import WorkerProcess, wait_for

_ROWS = 24_000
_ROWS_PER_S = 100
_PARTITIONS = 2
_LANES = 2
_KEPT = {"read": "READ", "written": "WRITE", "made": "CREATE", "configured": "DESCRIBE_CONFIGS"}


def _number_of(value: bytes) -> int:
    row: int = json.loads(value)["payload"]["id"]
    return row


class FullTable:
    """Holds a table whose rows all exist from the beginning."""

    rows = _ROWS

    def __init__(self, path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            rows = ((number, f"order {number}") for number in range(1, _ROWS + 1))
            connection.executemany("INSERT INTO orders VALUES (?, ?)", rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stop(self) -> int:
        """Return how many rows there are."""
        return _ROWS


class BackfillFlow(Flow):
    """Holds the table, its stopped connector, the job in a process of a worker, and the topic."""

    rows_per_s = _ROWS_PER_S
    drain_s = 600.0
    denied_s = 15.0
    """This is longer than lanes rest before they try again."""
    lost = (
        ("rows written",),
        ("markers written", "markers read"),
        ("a lane's transactions", "other lane's transactions"),
        ("a lane's transactions", "other lane's transactions", "job's transactions"),
    )

    def __init__(self, brokers: ThreeBrokers, folder: Path, name: str) -> None:
        self.job, self.topic, self._database = f"{name}-job", f"{name}-orders", folder / "orders.db"
        self.connectors = ()
        super().__init__(brokers, folder, name, FullTable(self._database), WorkerProcess)
        self._ids: CommittedIds | None = None

    def begin(self) -> None:
        """Do as `Flow` says."""
        replicated = {
            "topic.creation.default.replication.factor": "3",
            "topic.creation.default.partitions": str(_PARTITIONS),
        }
        config = source_config(self._database, f"{self.name}-", **replicated)
        connector = {"name": f"{self.name}-source", "config": config, "initial_state": "STOPPED"}
        self._request("POST", "/connectors", connector)
        spec = {
            "apiVersion": "backfill/v1", "name": self.job, "source": {"connector": f"{self.name}-source"},
            "engine": {"type": "local", "processes": _LANES}, "chunking": {"rows": 200, "lanes": _LANES},
            "limits": {"max_rows_per_second": _ROWS_PER_S},
        }  # fmt: skip
        self._request("POST", "/backfills", spec)
        wait_for(lambda: self.brokers.replicas(self.topic), WAIT_S, self.standstill)
        self._ids = CommittedIds(self.brokers.bootstrap_servers, self.topic, _PARTITIONS, _number_of)
        wait_for(self.newest, WAIT_S, self.standstill)

    def newest(self) -> int:
        """Return how many rows have arrived, as they come in no order."""
        return len(self.arrived())

    def seen_now(self) -> int:
        """Do as `Flow` says."""
        return self.newest()

    def arrived(self) -> list[int]:
        """Do as `Flow` says."""
        return [] if self._ids is None else self._ids.read()

    def standstill(self) -> str:
        """Do as `Flow` says."""
        return f"rows behind {self.newest()}; {self._shown()}"

    def check(self) -> str:
        """Do as `Flow` says. The job may go as fast as it can from now on, and compares its rows at its end, too."""
        self._request("PATCH", f"/backfills/{self.job}/limits", {"max_rows_per_second": 0})
        seen = super().check()
        verdict = self._request("POST", f"/backfills/{self.job}/verify", timeout_s=WAIT_S)
        assert (verdict["good"], verdict["missing"], verdict["twice"]) == (True, 0, 0), verdict
        return seen

    def left(self) -> int:
        """Return 0 at the job's end."""
        return int(self._shown().get("state") != "COPIED")

    def told_of(self, connector: str) -> str:
        """Return why the job stands still, as all workers say: each alone knows why it does not run the job now."""
        shown = [job for worker in self.workers for job in self._jobs_at(worker)]
        return "\n".join(job.get(key) or "" for job in shown for key in ("error", "not_adopted"))

    def coordinators(self) -> Mapping[str, Callable[[], int]]:
        """Do as `Flow` says."""
        return {
            "lane's transactions": lambda: self.brokers.transaction_coordinator_of(f"bf-{self.job}-0"),
            "job's transactions": lambda: self.brokers.transaction_coordinator_of(f"bf-{self.job}-driver"),
            "markers": lambda: self.brokers.leader_of(f"connect-backfill-{self.job}"),
        }

    def own_rights(self) -> Mapping[str, tuple[Right, str]]:
        """Do as `Flow` says."""
        jobs, markers = "connect-backfill-jobs", f"connect-backfill-{self.job}"
        kept = {
            f"{what} {does}": Right("TOPIC", topic, operation)
            for what, topic in (("jobs", jobs), ("markers", markers))
            for does, operation in _KEPT.items()
        }
        wanted = {
            **kept,
            "rows written": Right("TOPIC", self.topic, "WRITE"),
            "rows compared": Right("TOPIC", self.topic, "READ"),
            "a lane's transactions": Right("TRANSACTIONAL_ID", f"bf-{self.job}-0", "WRITE"),
            "other lane's transactions": Right("TRANSACTIONAL_ID", f"bf-{self.job}-1", "WRITE"),
            "job's transactions": Right("TRANSACTIONAL_ID", f"bf-{self.job}-driver", "WRITE"),
        }
        return {purpose: (right, self.job) for purpose, right in wanted.items()}

    def stop(self) -> None:
        """Do as `Flow` says."""
        super().stop()
        if self._ids is not None:
            self._ids.close()

    def _shown(self) -> dict[str, Any]:
        """Return the job as a worker shows it; empty while none answers."""
        return next((job for worker in self.workers for job in self._jobs_at(worker)), {})

    def _jobs_at(self, worker: WorkerProcess) -> list[dict[str, Any]]:
        if not worker.is_running():
            return []
        answer = self.ask(lambda: requests.get(f"{worker.url}/backfills", timeout=60))
        return [job for job in answer.json() if job["name"] == self.job] if answer.status_code == 200 else []

    def _request(self, method: str, path: str, body: Any = None, timeout_s: float = 90.0) -> Any:
        answer = requests.request(method, self.worker().url + path, json=body, timeout=timeout_s)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.text else None
