"""A worker with the default leaves, and a second process that keeps asking it while it is attacked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
from e2e_worker import WorkerProcess

ANSWERS_WITHIN_S = 1.0
SECRET = "Kx7-environment-9Qz"
ASK = """
import json, sys, threading, time, urllib.request
answers, worst_s, over = 0, 0.0, threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
print("asking", flush=True)
while not over.is_set() or not answers:
    began = time.monotonic()
    urllib.request.urlopen(sys.argv[1] + "/connectors", timeout=30).read()
    worst_s, answers = max(worst_s, time.monotonic() - began), answers + 1
    over.wait(0.05)
print(json.dumps(worst_s))
"""


class Target:
    """The worker under attack."""

    def __init__(self, worker: WorkerProcess, folder: Path, bootstrap_servers: str, name: str) -> None:
        self.worker = worker
        self.url = worker.url
        self.folder = folder
        self.bootstrap_servers = bootstrap_servers
        self.name = name

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Fail when REST took longer than a second for another client meanwhile, or the worker has ended."""
        asking = subprocess.Popen(
            [sys.executable, "-I", "-c", ASK, self.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert asking.stdout is not None
        asking.stdout.readline()
        try:
            yield
        finally:
            told, _ = asking.communicate(timeout=60)
        assert asking.returncode == 0, "REST gave no answer while it was attacked"
        limit_s = ANSWERS_WITHIN_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # others may use the machine
        assert json.loads(told) < limit_s, f"REST took {told.strip()} s while it was attacked"

    def validate(self, config: dict[str, str]) -> list[str]:
        """What validation says against a configuration, without the errors of connecting."""
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
        """Texts of all that REST shows to a client without rights."""
        names = requests.get(f"{self.url}/connectors", timeout=10).json()
        paths = ["/connectors?expand=status&expand=info", "/metrics", "/health", "/backfills", "/admin/loggers"]
        parts = ("", "/config", "/status", "/tasks", "/topics", "/offsets", "/tasks-config", "/history", "/why")
        paths += [f"/connectors/{name}{part}" for name in names for part in parts]
        return "\n".join(requests.get(f"{self.url}{path}", timeout=10).text for path in paths)
