"""Provides one of our Connect workers as a service.

It has its own process and its own internal topics, and can be killed and started again at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import yaml

from connect.lib import python_child
from connect.tools.services.login import Login
from connect.tools.services.process.http_answer import answer_of
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.private_file import write_private
from connect.tools.services.process.service import START_DEADLINE_S
from connect.tools.services.process.supervised import SupervisedService


@dataclass(frozen=True)
class WorkerEndpoint:
    """Holds the address of the REST API."""

    url: str


class WorkerService(SupervisedService[WorkerEndpoint]):
    """Keeps one `connect worker`. `settings` are further keys of its file, and override those that are set here."""

    name: ClassVar[str] = "worker"
    port_names: ClassVar[tuple[str, ...]] = ("rest",)

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group_id: str,
        settings: Mapping[str, str] | None = None,
        login: Login | None = None,
        data_folder: Path | None = None,
        ports: Mapping[str, int] | None = None,
    ) -> None:
        """Take the settings. If `login` is given, the worker answers only this user, but tells everybody if it is
        healthy.
        """
        super().__init__(data_folder=data_folder, ports=ports)
        self._login = login
        self.properties = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group_id,
            "config.storage.topic": f"{group_id}-configs",
            "offset.storage.topic": f"{group_id}-offsets",
            "status.storage.topic": f"{group_id}-status",
            **{f"{topic}.storage.replication.factor": "1" for topic in ("config", "offset", "status")},
            "offset.storage.partitions": "5",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "offset.flush.interval.ms": "1000",
            # On one machine a worker is noticed as gone after three seconds instead of six, and others take its work
            # over.
            "session.timeout.ms": "3000",
            **(settings or {}),
        }

    def prepare(self) -> None:
        """Do nothing: the service is this program itself, so there is nothing to fetch."""

    def start(self, deadline_s: float = START_DEADLINE_S) -> WorkerEndpoint:
        """Start the worker, and return when it answers. Its file is then removed, as connectors may name its folder."""
        try:
            return super().start(deadline_s)
        finally:
            _file_of(self._known_folder()).unlink(missing_ok=True)

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        properties = {**self.properties, "listeners": f"http://{LOOPBACK}:{ports['rest']}"}
        if self._login is not None:
            users = write_private(folder / "users.properties", f"{self._login.user}={self._login.password}\n")
            properties["rest.basic.auth.file"] = str(users)
        file = write_private(_file_of(folder), yaml.safe_dump(properties))
        return python_child.command("connect.cli", "worker", str(file), "--log-format", "json")

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> WorkerEndpoint:
        del folder
        return WorkerEndpoint(f"http://{LOOPBACK}:{ports['rest']}")

    def _answers(self, endpoint: WorkerEndpoint, timeout_s: float) -> bool:
        answer = answer_of("GET", f"{endpoint.url}/health", timeout_s)
        try:
            return answer is not None and bool(json.loads(answer.data)["status"] == "healthy")
        except (ValueError, KeyError):
            return False


def _file_of(folder: Path) -> Path:
    return folder / "worker.yaml"
