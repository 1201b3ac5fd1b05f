"""Runs the two workers of one kind that are measured: ours, or Apache Kafka's own in Java, with the same settings."""

from __future__ import annotations

import contextlib
import http
import os
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import psutil
import requests

from connect.lib.deadline import Deadline
from connect.tools.services.java_connect import InternalTopics, JavaConnectEndpoint, JavaConnectService
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.supervised import SupervisedService

JSON = "org.apache.kafka.connect.json.JsonConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
WAIT_S = 120.0
KAFKAS_JVM = ("-Xms256m", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:+ExplicitGCInvokesConcurrent")
"""What connect-distributed.sh of Kafka 4.1 starts a worker with, beside -Xmx2G."""
KAFKAS_HEAP_MIB = 2048


class OurConnectService(SupervisedService[JavaConnectEndpoint]):
    """`connect worker` with its default settings but for addresses and replication."""

    name: ClassVar[str] = "connect"
    port_names: ClassVar[tuple[str, ...]] = ("rest",)
    stop_grace_s: ClassVar[float] = 20.0

    def __init__(self, bootstrap_servers: str, *, group_id: str, topics: InternalTopics) -> None:
        super().__init__()
        self._properties = {
            "bootstrap.servers": bootstrap_servers, "group.id": group_id, "config.storage.topic": topics.configs,
            "offset.storage.topic": topics.offsets, "status.storage.topic": topics.status,
            "config.storage.replication.factor": "1", "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1", "key.converter": JSON, "value.converter": JSON,
            # The files that sources read.
            "allowed.paths": tempfile.gettempdir(),
        }  # fmt: skip

    def prepare(self) -> None:
        return None

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        file = folder / "worker.properties"
        given = {**self._properties, "listeners": f"http://{LOOPBACK}:{ports['rest']}"}
        file.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        return [sys.executable, "-m", "connect.cli", "worker", str(file)]

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> JavaConnectEndpoint:
        return JavaConnectEndpoint(f"http://{LOOPBACK}:{ports['rest']}")

    def _answers(self, endpoint: JavaConnectEndpoint, timeout_s: float) -> bool:
        try:
            return requests.get(f"{endpoint.url}/", timeout=timeout_s).status_code == http.HTTPStatus.OK
        except requests.RequestException:  # still starting
            return False


class JavaWorkerService(JavaConnectService):
    """Java's, started when it answers at all."""

    ready_path: ClassVar[str] = "/"


@dataclass(frozen=True)
class Start:
    """Seconds from the start of a worker's process until REST answers, and until it says that it is healthy."""

    rest_s: float
    healthy_s: float


@dataclass(frozen=True)
class Memory:
    """What all processes of a worker hold, in MiB. USS is what each has to itself, PSS counts each page once in all."""

    uss_mib: float
    pss_mib: float


class Worker:
    """One worker of either kind."""

    def __init__(self, service: OurConnectService | JavaConnectService) -> None:
        self.service = service
        self._session = requests.Session()

    def start(self) -> Start:
        """Start it, in steps of 50 ms."""
        self.service.prepare()
        started_s = time.monotonic()
        self.service.start(WAIT_S)
        rest_s = time.monotonic() - started_s
        wait_for(self._is_healthy, f"{self.url}/health", every_s=0.05)
        return Start(rest_s, time.monotonic() - started_s)

    @property
    def url(self) -> str:
        return self.service.endpoint.url

    @property
    def id(self) -> str:
        """As statuses name it."""
        return self.url.removeprefix("http://")

    def kill(self) -> float:
        """kill -9 of the worker's own process, nothing else; when that was, by the monotonic clock."""
        return self._signal(signal.SIGKILL)

    def terminate(self) -> float:
        """SIGTERM; when that was, by the monotonic clock."""
        return self._signal(signal.SIGTERM)

    def freeze(self) -> float:
        """Stop all processes of the worker, as a machine that is paused; when that was, by the monotonic clock."""
        sent_s = time.monotonic()
        for process in self._processes():
            process.suspend()
        return sent_s

    def thaw(self) -> None:
        """Let all processes go on that still are there."""
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # a host whose lease is over ends at once
                process.resume()

    def clean_up(self) -> None:
        """Wait for the end after a signal."""
        self.service.stop()

    def memory(self) -> Memory:
        parts = [process.memory_full_info() for process in self._processes()]
        return Memory(sum(p.uss for p in parts) / 2**20, sum(p.pss for p in parts) / 2**20)

    def cpu_s(self) -> float:
        """CPU seconds of all processes so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self._processes())

    @property
    def process_count(self) -> int:
        """Processes it consists of."""
        return len(self._processes())

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer's JSON; RuntimeError when it is no success."""
        answer = self._session.request(method, self.url + path, json=body, timeout=WAIT_S)
        if not answer.ok:
            raise RuntimeError(f"{method} {path} answered {answer.status_code}: {answer.text}")
        return answer.json() if answer.content else None

    def _is_healthy(self) -> bool:
        return self._session.get(f"{self.url}/health", timeout=WAIT_S).status_code == http.HTTPStatus.OK

    def _signal(self, number: signal.Signals) -> float:
        pid = self.service.pid
        assert pid is not None
        sent_s = time.monotonic()
        os.kill(pid, number)
        return sent_s

    def _processes(self) -> list[psutil.Process]:
        root = psutil.Process(self.service.pid)
        return [root, *root.children(recursive=True)]


class Workers:
    """Workers of one cluster, two unless another number is told. Leaves nothing behind."""

    def __init__(self, kind: str, bootstrap_servers: str, count: int = 2) -> None:
        group = f"bench-{kind}-{uuid.uuid4().hex[:6]}"
        self.topics = InternalTopics(f"{group}-configs", f"{group}-offsets", f"{group}-status")
        self.all = [Worker(_service(kind, bootstrap_servers, group, self.topics)) for _ in range(count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.all:
            with contextlib.suppress(OSError):
                worker.service.kill()
            worker.service.close()

    def owner(self, connector: str) -> tuple[Worker, Worker]:
        """The worker that runs task 0 of a connector, and the other."""
        owner_id = wait_for(
            lambda: next((t["worker_id"] for t in self.tasks(connector) if t["state"] == "RUNNING"), None),
            f"a task of {connector}",
        )
        first, second = self.all
        return (first, second) if first.id == owner_id else (second, first)

    def tasks(self, connector: str) -> list[dict[str, Any]]:
        """The status of its tasks; none yet while the connector is unknown."""
        try:
            return self.all[0].call("GET", f"/connectors/{connector}/status")["tasks"]
        except RuntimeError:
            return []


def _service(
    kind: str, bootstrap_servers: str, group: str, topics: InternalTopics
) -> OurConnectService | JavaConnectService:
    if kind == "ours":
        return OurConnectService(bootstrap_servers, group_id=group, topics=topics)
    # Tuned: plug-ins found by their service files, and no wait of 5 minutes for a lost worker's return.
    return JavaWorkerService(
        bootstrap_servers, group_id=group, topics=topics, jvm_options=KAFKAS_JVM, heap_mib=KAFKAS_HEAP_MIB
    )


def wait_for(condition: Any, what: str, timeout_s: float = WAIT_S, every_s: float = 0.01) -> Any:
    """The first true answer."""
    deadline = Deadline.after(timeout_s)
    while not (answer := condition()):
        if not deadline.wait(every_s):
            raise TimeoutError(f"{what}: not within {timeout_s:g} s")
    return answer
