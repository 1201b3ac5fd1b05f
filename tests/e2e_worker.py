"""Runs `connect worker` processes for tests (see `warm_process`), and makes the REST calls that tests need."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import pytest
import requests
import warm_process
import warm_server
from warm_process import WarmProcess

from connect.lib.deadline import Deadline
from connect.tools.services.process.ports import free_ports
from connect.tools.services.process.process import log_tail

JSON = "org.apache.kafka.connect.json.JsonConverter"
FEW_PARTITIONS = {"slots": "6", "offset.storage.partitions": "2", "status.storage.partitions": "2"}
"""Tests use few partitions for internal topics that live for one test: the usual 90 would cost a broker more than the
test.
"""


class Program(Protocol):
    """Stands for a process whose work a test waits for."""

    def exit_code(self) -> int | None:
        """Return the exit code; None while the process runs."""

    def log_tail(self) -> str:
        """Return the last lines of its log."""


def wait_for(
    condition: Callable[[], Any],
    timeout_s: float,
    what: str | Callable[[], str],
    pause_s: float = 0.1,
    *,
    by: Program | None = None,
) -> Any:
    """Return the first true answer of `condition`.

    After `timeout_s` seconds the test fails with the last answer. If the process `by` ends before, the test fails at
    once.
    """
    limit_s = time.monotonic() + timeout_s
    pause, short_s = threading.Event(), pause_s / 10
    while True:
        # The exit code is asked for first, so that what a process did just before its end counts.
        code = by.exit_code() if by else None
        answer = condition()
        if answer:
            return answer
        if code is not None or time.monotonic() > limit_s:
            why = f"not within {timeout_s} s" if code is None else f"its process ended with exit code {code}"
            said = f"\n{by.log_tail()}" if by else ""
            awaited = what if isinstance(what, str) else what()
            pytest.fail(f"{awaited}: {why}; the last answer was {answer!r}{said}")
        # Most answers come soon, and each question costs time of whoever answers.
        pause.wait(short_s)
        short_s = min(pause_s, short_s * 1.5)


class WorkerProcess:
    """Keeps one worker on a free port with its own internal topics."""

    def __init__(
        self, folder: Path, bootstrap_servers: str, name: str, *, cold_hosts: bool = False, **settings: str
    ) -> None:
        """Take the settings. With `cold_hosts` its task hosts share memory only with their own fork server."""
        folder.mkdir(parents=True, exist_ok=True)
        self.url = f"http://127.0.0.1:{free_ports(1)[0]}"
        self.log_path = folder / "worker.log"
        self._folder = folder
        self._environ = {warm_server.COLD_HOSTS: "1"} if cold_hosts else {}
        self.properties = properties = {
            "bootstrap.servers": bootstrap_servers, "group.id": name, "listeners": self.url,
            "config.storage.topic": f"{name}-configs", "offset.storage.topic": f"{name}-offsets",
            "status.storage.topic": f"{name}-status", "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1",
            "key.converter": JSON, "value.converter": JSON, "offset.flush.interval.ms": "500",
            "allowed.paths": tempfile.gettempdir(), **FEW_PARTITIONS, **settings,
        }  # fmt: skip
        self._file = folder / "worker.properties"
        self._file.write_text("".join(f"{k}={v}\n" for k, v in properties.items()))
        self._process: WarmProcess | None = None

    def start(self, timeout_s: float = 60.0) -> None:
        with self.log_path.open("ab") as log:
            self._process = warm_process.start(
                ["worker", str(self._file)],
                folder=self._folder,
                environ={**os.environ, **self._environ},
                stdout=log.fileno(),
                stderr=log.fileno(),
            )
        wait_for(self.healthy, timeout_s, lambda: f"health of the worker, which is at:\n{self._stacks()}\n", by=self)

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10.0)

    def kill(self) -> None:
        """Kill the worker as a crash would; its task hosts die with it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10.0)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def is_running(self) -> bool:
        """Tell if its process runs."""
        return self._process is not None and self._process.poll() is None

    def exit_code(self) -> int | None:
        """Return the exit code; None while the process runs."""
        assert self._process is not None
        return self._process.poll()

    def healthy(self) -> bool:
        try:
            return requests.get(f"{self.url}/health", timeout=5).status_code == 200
        except requests.RequestException:
            return False

    def log_tail(self) -> str:
        return log_tail(self.log_path) if self.log_path.exists() else ""

    def _stacks(self) -> str:
        """Return the stacks of its threads, which it logs on request; an empty text if it has ended."""
        logged = self.log_path.stat().st_size
        if not self.is_running():
            return ""
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR2)
        deadline = Deadline.after(10.0)
        while True:
            text = self.log_path.read_bytes()[logged:].decode(errors="replace")
            if "Current thread" in text or not deadline.wait(0.1):
                return text

    def create(self, name: str, config: Mapping[str, str]) -> requests.Response:
        return requests.post(f"{self.url}/connectors", json={"name": name, "config": config}, timeout=60)

    def validate(self, plugin: str, config: Mapping[str, str]) -> dict[str, Any]:
        answer = requests.put(f"{self.url}/connector-plugins/{plugin}/config/validate", json=config, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def call(self, method: str, name: str, rest: str = "") -> requests.Response:
        return requests.request(method, f"{self.url}/connectors/{quote(name, safe='')}{rest}", timeout=60)

    def status(self, name: str) -> dict[str, Any]:
        answer = self.call("GET", name, "/status")
        return answer.json() if answer.status_code == 200 else {}

    def wait_for_tasks(self, name: str, state: str, timeout_s: float = 60.0) -> dict[str, Any]:
        """Return the status once there are tasks and all of them are in `state`."""

        def look() -> dict[str, Any] | None:
            status = self.status(name)
            tasks = status.get("tasks", [])
            return status if tasks and all(t["state"] == state for t in tasks) else None

        return wait_for(look, timeout_s, lambda: f"tasks of {name} {state}, now {self.status(name)}")
