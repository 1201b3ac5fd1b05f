"""Runs a worker as a real process that is asked over HTTP, and has the function by which tests wait."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import requests
import warm_process
from warm_process import WarmProcess

from connect.lib.deadline import Deadline

PLUGINS = Path(__file__).parent / "plugins"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
COMMAND = (sys.executable, "-c", "from connect.cli import main; main()")


def eventually(condition: Callable[[], object], timeout_s: float = 90.0) -> object:
    """Wait until the condition is true, and return its value. AssertionError, with the last value: it is not in
    time.
    """
    deadline, pause_s = Deadline.after(timeout_s), 0.01
    while not (last := condition()):
        assert deadline.wait(pause_s), f"still {last!r} after {timeout_s} s"
        pause_s = min(0.1, pause_s * 1.5)
    return last


class WorkerProcess:
    """Keeps a worker as a person starts it. Unless it is `cold`, its modules are loaded before (see `warm_process`)."""

    def __init__(self, file: Path, log: Path, *arguments: str, cold: bool = False) -> None:
        self.log = log
        self._stderr = log.open("ab")
        paths = [str(PLUGINS), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        argv = ["worker", str(file), *arguments]
        reads, writes = os.pipe()
        self._stdout = os.fdopen(reads, encoding="utf-8")
        try:
            self.process: subprocess.Popen[bytes] | WarmProcess
            if cold:
                self.process = subprocess.Popen([*COMMAND, *argv], stdout=writes, stderr=self._stderr, env=environment)
            else:
                self.process = warm_process.start(
                    argv, folder=Path.cwd(), environ=environment, stdout=writes, stderr=self._stderr.fileno()
                )
        finally:
            os.close(writes)
        self.url = ""

    def ready(self) -> "WorkerProcess":
        line = self._stdout.readline()
        assert line.startswith("Connect worker ready: "), self.log.read_text()
        self.url = line.removeprefix("Connect worker ready: ").strip()
        return self

    @property
    def pid(self) -> int:
        return self.process.pid

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    def hosts(self) -> list[psutil.Process]:
        """Return its task hosts, which a separate process forks."""
        return [host for server in psutil.Process(self.pid).children() for host in server.children()]

    def call(self, method: str, path: str, body: object = None, timeout_s: float = 60) -> requests.Response:
        return requests.request(method, self.url + path, json=body, timeout=timeout_s)

    def get(self, path: str) -> object:
        answer = self.call("GET", path)
        assert answer.ok, answer.text
        return answer.json()

    def create(self, name: str, **config: str) -> requests.Response:
        given = {"connector.class": "CounterSource", "tasks.max": "2", "topic": f"{name}-numbers", **config}
        answer = self.call("POST", "/connectors", {"name": name, "config": given})
        assert answer.status_code == 201, answer.text
        return answer

    def states(self, name: str) -> tuple[str, list[str]] | None:
        answer = self.call("GET", f"/connectors/{name}/status")
        if answer.status_code == 404:
            return None
        status = answer.json()
        return status["connector"]["state"], [task["state"] for task in status["tasks"]]

    def task_workers(self, name: str) -> list[tuple[str, str]]:
        tasks = self.get(f"/connectors/{name}/status")["tasks"]
        return [(task["worker_id"], task["state"]) for task in tasks]

    def runs(self, name: str, tasks: int = 2) -> Callable[[], bool]:
        return lambda: self.states(name) == ("RUNNING", ["RUNNING"] * tasks)

    def stop(self, timeout_s: float = 60) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGUSR2)  # this signal has the worker log the stacks of its threads
            eventually(lambda: "most recent call first" in self.log.read_text(), 10)
            pytest.fail(f"still running {timeout_s} s after SIGTERM: {self.log.read_text()[-20_000:]}")
        self.close()
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self._stdout.close()
        self._stderr.close()
