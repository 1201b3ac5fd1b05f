"""Runs a `connect agent cassandra` process beside a node."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import warm_process
from cassandra_node import Node
from warm_process import WarmProcess

from connect.tools.services import KafkaEndpoint
from connect.tools.services.process.process import log_tail

JSON = "org.apache.kafka.connect.json.JsonConverter"


class AgentProcess:
    """Keeps the agent of one node; its offsets are in its own topic. It may be started again after it has ended."""

    def __init__(
        self,
        folder: Path,
        kafka: KafkaEndpoint,
        node: Node,
        name: str,
        *,
        in_transactions: bool = False,
        **settings: str,
    ) -> None:
        worker = {
            "bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "config.storage.topic": f"{name}-configs",
            "status.storage.topic": f"{name}-status", "offset.storage.topic": f"{name}-offsets",
            "offset.storage.replication.factor": "1", "offset.storage.partitions": "1",
            "key.converter": JSON, "value.converter": JSON, "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false", "offset.flush.interval.ms": "300",
            "exactly.once.source.support": "enabled" if in_transactions else "disabled",
        }  # fmt: skip
        config = {
            "contact.points": node.endpoint.host, "port": str(node.endpoint.port),
            "cdc.raw.folder": str(node.endpoint.cdc_raw_folder), "topic.prefix": f"{name}.", **settings,
        }  # fmt: skip
        self._worker_file, self._file = folder / "worker.properties", folder / "agent.json"
        self._worker_file.write_text("".join(f"{key}={value}\n" for key, value in worker.items()))
        self._file.write_text(json.dumps({"name": name, "config": config}))
        self._folder = folder
        self.log_path = folder / "agent.log"
        self._process: WarmProcess | None = None

    def start(self) -> None:
        with self.log_path.open("ab") as log:
            self._process = warm_process.start(
                ["agent", "cassandra", str(self._file), "--worker", str(self._worker_file)],
                folder=self._folder, environ=os.environ, stdout=log.fileno(), stderr=log.fileno(),
            )  # fmt: skip

    def stop(self) -> int | None:
        """End the agent as an operator does, and return its exit code."""
        if self._process is None:
            return None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(30.0)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def wait(self) -> int:
        """Wait until the agent ends by itself, and return its exit code."""
        assert self._process is not None
        return self._process.wait(30.0)

    def kill(self) -> None:
        """Kill the agent, as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10.0)

    def exit_code(self) -> int | None:
        """Return the exit code; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def log_tail(self) -> str:
        return log_tail(self.log_path)
