"""Runs a cluster for a random history: workers, and a broker that compacts its internal topics all the time.

Each worker has the same address after each start. The others reach it through a relay, which may delay their messages.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import requests
import yaml
from cluster_model import Answer
from cluster_worker import JSON_CONVERTER, WorkerProcess, eventually
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import FEW_PARTITIONS
from kafka_relay import KafkaRelay

from connect.tools.services import KafkaService
from connect.tools.services.process.ports import LOOPBACK, free_ports

CLIENT_TIMEOUT_S = 20.0
REQUEST_TIMEOUT_S = 15
_COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "1000",
}
_INTERNAL = {"config": 1, "offset": 2, "status": 2}
"""Maps each internal topic to its number of partitions."""
TOPICS = ("once-rows", "often-rows")


class Member:
    """Holds one worker, whichever process it is now."""

    def __init__(self, number: int, folder: Path, keys: dict[str, str]) -> None:
        self.number = number
        port, advertised = free_ports(2)
        self.relay = KafkaRelay(advertised, port)
        self.url = f"http://{LOOPBACK}:{port}"
        self.id = f"{LOOPBACK}:{advertised}"
        self.log = folder / f"worker-{number}.log"
        self._file = folder / f"worker-{number}.yaml"
        own = {"listeners": self.url, "rest.advertised.host.name": LOOPBACK, "rest.advertised.port": str(advertised)}
        self._file.write_text(yaml.safe_dump({**keys, **own}), encoding="utf-8")
        self._process: WorkerProcess | None = None
        self.start()

    def start(self) -> None:
        """Start the worker's process, and do not wait until it is ready."""
        self._process = WorkerProcess(self._file, self.log)

    @property
    def process(self) -> WorkerProcess:
        """Return the worker's last process."""
        assert self._process is not None
        return self._process

    def tree(self) -> list[psutil.Process]:
        """Return the worker's process and all processes below it."""
        try:
            worker = psutil.Process(self.process.pid)
            return [worker, *worker.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def is_healthy(self) -> bool:
        """Tell if the worker says that it is healthy."""
        try:
            return requests.get(f"{self.url}/health", timeout=5).status_code == 200
        except requests.RequestException:
            return False

    def ask(self, method: str, path: str, body: object = None, timeout_s: float = CLIENT_TIMEOUT_S) -> Answer:
        """Send one request. The answer has status 0 if none came."""
        try:
            answer = requests.request(method, self.url + path, json=body, timeout=timeout_s)
        except requests.RequestException as error:
            return Answer(0, type(error).__name__)
        return Answer(answer.status_code, answer.text)

    def end(self) -> None:
        """Kill all processes of the worker."""
        for process in self.tree():
            with suppress(psutil.NoSuchProcess):  # it may end meanwhile
                process.send_signal(signal.SIGCONT)
        self.process.close()
        self.relay.close()


class Bed:
    """Holds the broker and the members of one cluster."""

    def __init__(self, folder: Path, members: int, stack: ExitStack) -> None:
        self.folder, self.presence, self.sunk = folder, folder / "presence", folder / "sunk"
        for made in (self.presence, self.sunk):
            made.mkdir(parents=True)
        self.kafka = stack.enter_context(KafkaService(properties={"log.cleaner.backoff.ms": "500"}))
        self._make_topics()
        self.members: list[Member] = []
        for number in range(members):
            self.members.append(Member(number, folder, self._keys()))
            stack.callback(self.members[-1].end)
        eventually(lambda: all(member.is_healthy() for member in self.members), 120)

    @property
    def bootstrap_servers(self) -> str:
        return self.kafka.endpoint.bootstrap_servers

    def leader(self) -> Member | None:
        """Return the member that said last that it leads; None if none has said so."""
        said = {member.number: _leads_since(member.log) for member in self.members}
        number = max(said, key=lambda one: said[one])
        return self.members[number] if said[number] else None

    def _keys(self) -> dict[str, str]:
        keys = {
            "bootstrap.servers": self.bootstrap_servers, "group.id": "histories",
            "key.converter": JSON_CONVERTER, "value.converter": JSON_CONVERTER,
            "value.converter.schemas.enable": "false", "offset.flush.interval.ms": "500",
            "task.shutdown.graceful.timeout.ms": "12000", "rest.request.timeout.ms": str(REQUEST_TIMEOUT_S * 1000),
            **FEW_PARTITIONS,
        }  # fmt: skip
        for name in _INTERNAL:
            keys[f"{name}.storage.topic"] = f"histories-{name}"
            keys[f"{name}.storage.replication.factor"] = "1"
        return keys

    def _make_topics(self) -> None:
        internal = [NewTopic(f"histories-{name}", n, 1, config=_COMPACTED) for name, n in _INTERNAL.items()]
        rows = [NewTopic(topic, 1, 1) for topic in TOPICS]
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        for topic in admin.create_topics([*internal, *rows]).values():
            topic.result(30)


def _leads_since(log: Path) -> str:
    """Return the time of the last line in a log that says that its worker leads; empty if there is none."""
    told = (
        [line for line in log.read_text(errors="replace").splitlines() if "leads=True" in line] if log.exists() else []
    )
    return told[-1] if told else ""


@contextmanager
def bed(folder: Path, members: int) -> Iterator[Bed]:
    """Yield a cluster; in the end it is stopped with all its processes."""
    with ExitStack() as stack:
        yield Bed(folder, members, stack)
