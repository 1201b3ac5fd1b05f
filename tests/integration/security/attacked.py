"""Runs a worker with the default permissions, and sends it what an attacker and another client ask."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import requests
from answers_in_time import answering
from e2e_worker import WorkerProcess

SECRET = "Kx7-environment-9Qz"


class Target:
    """Stands for the worker under attack."""

    def __init__(self, worker: WorkerProcess, folder: Path, bootstrap_servers: str, name: str) -> None:
        self.worker = worker
        self.url = worker.url
        self.folder = folder
        self.bootstrap_servers = bootstrap_servers
        self.name = name

    def answering(self) -> AbstractContextManager[None]:
        """Fail if REST took longer than a second for another client inside the block, or if the worker has ended."""
        return answering(self.url)

    def validate(self, config: dict[str, str]) -> list[str]:
        """Return the errors of validation for a configuration, without errors of connecting."""
        plugin = config["connector.class"]
        answer = requests.put(
            f"{self.url}/connector-plugins/{plugin}/config/validate", json={"name": "v", **config}, timeout=60
        )
        assert answer.status_code in (200, 400), answer.text
        told = answer.json()
        return [e for c in told.get("configs", []) for e in c["value"]["errors"]] or [told.get("message", "")]

    def create(self, name: str, config: dict[str, str]) -> requests.Response:
        return self.worker.create(name, config)

    def delete(self, *names: str) -> None:
        for name in names:
            self.worker.call("DELETE", name)

    def everything(self) -> str:
        """Return the texts of everything that REST shows to a client without rights."""
        names = requests.get(f"{self.url}/connectors", timeout=10).json()
        paths = ["/connectors?expand=status&expand=info", "/metrics", "/health", "/backfills", "/admin/loggers"]
        parts = ("", "/config", "/status", "/tasks", "/topics", "/offsets", "/tasks-config", "/history", "/why")
        paths += [f"/connectors/{name}{part}" for name in names for part in parts]
        return "\n".join(requests.get(f"{self.url}{path}", timeout=10).text for path in paths)
