"""Runs the demo's own worker: an ordinary `connect worker` process that can be killed and started again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Final

from connect.api.errors import ConnectError
from connect.client.rest import Access, ConnectClient
from connect.lib import python_child
from connect.tools.services.process.polling import poll_until
from connect.tools.services.process.process import Command, SupervisedProcess

START_TIMEOUT_S: Final = 60.0
STOP_TIMEOUT_S: Final = 15.0
USUAL_PORT: Final = 8083
REST_TIMEOUT_S: Final = 30.0

_CONFIG: Final = """\
bootstrap.servers: {bootstrap_servers}
group.id: connect-demo
config.storage.topic: connect-configs
offset.storage.topic: connect-offsets
status.storage.topic: connect-status
config.storage.replication.factor: 1
offset.storage.replication.factor: 1
status.storage.replication.factor: 1
key.converter: org.apache.kafka.connect.json.JsonConverter
value.converter: org.apache.kafka.connect.json.JsonConverter
listeners: http://127.0.0.1:{port}
allowed.paths: {database}
offset.flush.interval.ms: 1000
# The group waits this long for a worker that was killed; the default of 6 s suits machines that talk over a network.
session.timeout.ms: 3000
"""


class DemoWorker:
    """Keeps one worker process. It is owned by the demo's main thread."""

    def __init__(self, folder: Path, bootstrap_servers: str, database: Path, port: int) -> None:
        """Take the file that connectors may name as `database`, and the port that REST listens on."""
        self._port = port
        self.config_path = folder / "worker.yaml"
        self.config_path.write_text(_CONFIG.format(bootstrap_servers=bootstrap_servers, port=port, database=database))
        self.log_path = folder / "worker.log"
        self._folder = folder
        self._process: SupervisedProcess | None = None
        self.rest = ConnectClient(Access(f"http://127.0.0.1:{self._port}"), REST_TIMEOUT_S)

    def start(self) -> float:
        """Start it, and return the seconds until its REST API answers. ConnectError, with the end of its log: it does
        not.
        """
        start_s = time.monotonic()
        argv = python_child.command("connect.cli", "worker", str(self.config_path))
        process = SupervisedProcess(Command(argv, self._folder, self.log_path, leftovers=[self._folder]))
        self._process = process

        def ready() -> bool:
            if not process.running:
                raise ConnectError(f"The worker ended at once. The end of {self.log_path}:\n{process.log_tail()}")
            return self._healthy()

        poll_until(ready, deadline_s=START_TIMEOUT_S, waiting_for="the worker", fix=f"See {self.log_path}.")
        return time.monotonic() - start_s

    def _healthy(self) -> bool:
        try:
            self.rest.call("GET", "/health")
        except ConnectError:
            return False
        return True

    @property
    def pid(self) -> int:
        """Return the worker's process id."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Kill the worker with SIGKILL and clean nothing up: the next one has to find what it leaves behind."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_TIMEOUT_S)
        self._process.kill()

    def stop(self) -> None:
        """End the worker as an operator would, with SIGTERM."""
        if self._process is not None:
            self._process.stop(STOP_TIMEOUT_S)
            self._process = None
