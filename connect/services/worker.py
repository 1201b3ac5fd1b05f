"""A Connect worker of ours as a service: its own process, its own internal topics, killed and started again at will."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import yaml

from connect.services.ports import LOOPBACK
from connect.services.supervised import SupervisedService


@dataclass(frozen=True)
class WorkerEndpoint:
    """Where the REST interface is."""

    url: str


class WorkerService(SupervisedService[WorkerEndpoint]):
    """One `connect worker`. `settings` are further keys of its file and win over those that are set here."""

    name: ClassVar[str] = "worker"
    port_names: ClassVar[tuple[str, ...]] = ("rest",)

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group_id: str,
        settings: Mapping[str, str] | None = None,
        data_folder: Path | None = None,
        ports: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(data_folder=data_folder, ports=ports)
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
            # One machine talks to itself: a killed worker's work goes on after three seconds instead of six.
            "session.timeout.ms": "3000",
            **(settings or {}),
        }

    def prepare(self) -> None:
        """Nothing is fetched: it is this program."""

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        file = folder / "worker.yaml"
        file.touch(mode=0o600)
        properties = {**self.properties, "listeners": f"http://{LOOPBACK}:{ports['rest']}"}
        file.write_text(yaml.safe_dump(properties), encoding="utf-8")
        return [sys.executable, "-m", "connect.cli", "worker", str(file), "--log-format", "json"]

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> WorkerEndpoint:
        del folder
        return WorkerEndpoint(f"http://{LOOPBACK}:{ports['rest']}")

    def _answers(self, endpoint: WorkerEndpoint, timeout_s: float) -> bool:
        try:
            with urllib.request.urlopen(f"{endpoint.url}/health", timeout=timeout_s) as answer:  # noqa: S310 - loopback
                return bool(json.load(answer)["status"] == "healthy")
        except (OSError, ValueError, urllib.error.HTTPError):
            return False
