"""Rows that flow through two workers over three brokers, and what has to hold whatever happens to them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import requests
from e2e_brokers import ThreeBrokers
from e2e_secured import Right
from e2e_worker import WorkerProcess, wait_for

WAIT_S = 180.0
ANSWER_S = 15.0
"""How long a question about a connector may take while a broker is away."""
INTERNAL = ("configs", "offsets", "status")
F = TypeVar("F", bound="Flow")
_DOES = ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")


class Rows(Protocol):
    """Where rows come from. Their numbers are 1 to `rows`."""

    @property
    def rows(self) -> int:
        """How many there are by now."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def stop(self) -> int:
        """End it; return how many rows there are."""


class Flow(ABC):
    """The rows, the connectors and the workers, all named after `name`."""

    def __init__(
        self, brokers: ThreeBrokers, folder: Path, name: str, writer: Rows, worker_kind: type[WorkerProcess]
    ) -> None:
        self.brokers, self.name, self.writer = brokers, name, writer
        three = {f"{kind}.storage.replication.factor": "3" for kind in ("config", "offset", "status")}
        self.workers = [
            worker_kind(
                folder / f"worker-{number}", brokers.bootstrap_servers, name,
                **{"exactly.once.source.support": "enabled", **three, **brokers.worker_settings},
            )
            for number in (1, 2)
        ]  # fmt: skip
        self.slowest_answer_s = 0.0

    connectors: tuple[str, ...]
    """The connectors that run while rows flow."""
    topic: str
    """The topic that the rows are in."""
    rows_per_s: int
    """How fast rows are written."""
    denied_s = 0.0
    """How long a right stays away once it was told that it is."""
    look_s = 0.1
    """How long to wait between two looks at where rows arrive."""
    drain_s = WAIT_S
    """How long what is left may take at the end."""
    lost: tuple[tuple[str, ...], ...]
    """A test takes these of `own_rights` away, those of one group at a time."""

    @abstractmethod
    def begin(self) -> None:
        """Create what rows flow by, and wait until some have arrived."""

    @abstractmethod
    def newest(self) -> int:
        """Return a number that grows whenever rows arrive: where the newest row is known, its own."""

    @abstractmethod
    def arrived(self) -> list[int]:
        """Return the number of each row that has arrived, as often as it has."""

    @abstractmethod
    def coordinators(self) -> Mapping[str, Callable[[], int]]:
        """Return which brokers the connectors rest on, by what for."""

    @abstractmethod
    def own_rights(self) -> Mapping[str, tuple[Right, str]]:
        """Return what the connectors need, by what for, each with the one that tells when it is gone."""

    def start(self) -> None:
        """Start all, and wait until rows arrive."""
        for worker in self.workers:
            worker.start(WAIT_S)
        self.begin()
        for topic in (self.topic, *(f"{self.name}-{kind}" for kind in INTERNAL)):
            assert set(self.brokers.replicas(topic)) == {3}, f"{topic}: {self.brokers.replicas(topic)} replicas"

    def create(self, name: str, config: Mapping[str, str], worker: int = 0) -> None:
        """Create a connector, once a worker of a loaded machine finds the time to check it."""

        def answered() -> requests.Response | None:
            answer = self.workers[worker].create(name, config)
            return None if "did not answer check within" in answer.text else answer

        answer = wait_for(answered, WAIT_S, f"an answer to the creation of {name}")
        assert answer.status_code == 201, answer.text

    def until_rows_flow(self) -> float:
        """Wait until a row arrives that was written after now; return the seconds that took."""
        began_s, seen = time.monotonic(), self.seen_now()
        wait_for(lambda: self._answers_in_time() and self.newest() > seen, WAIT_S, self.standstill, self.look_s)
        return time.monotonic() - began_s

    def seen_now(self) -> int:
        """Return the number that `newest` has to exceed for a row that was written after now."""
        return self.writer.rows

    def standstill(self) -> str:
        """Return what to say where no row arrives."""
        return f"a row after {self.newest()}; {[self.worker().status(name) for name in self.connectors]}"

    def check(self) -> str:
        """Wait until all is through, then compare: each row once, all running, nothing left. Return what was seen."""
        for name in self.connectors:
            wait_for(
                lambda name=name: self._runs(name),
                WAIT_S,
                lambda name=name: f"{name} RUNNING, now {self.worker().status(name)}",
            )
        total = self.writer.stop()
        wait_for(
            lambda: len(self.arrived()) >= total,
            self.drain_s,
            lambda: f"{total} rows, not {len(self.arrived())}",
            pause_s=1,
        )
        found = sorted(self.arrived())
        lost, twice = total - len(set(found)), len(found) - len(set(found))
        assert found == list(range(1, total + 1)), f"{lost} lost, {twice} twice, of {total} rows"
        wait_for(lambda: self.left() == 0, WAIT_S, lambda: f"nothing left, now {self.left()}", pause_s=1)
        failed = [state for name in self.connectors for state in self.states(name) if state["state"] == "FAILED"]
        told = f"{total} rows, {lost} lost, {twice} twice, slowest answer {self.slowest_answer_s:.1f} s"
        return f"{told}, failed: {failed}"

    def left(self) -> int:
        """Return how much is left to do once every row has arrived."""
        return 0

    def ask(self, do: Callable[[], requests.Response]) -> requests.Response:
        """Ask a worker; how long the slowest answer took is kept."""
        began_s = time.monotonic()
        answer = do()
        self.slowest_answer_s = max(self.slowest_answer_s, time.monotonic() - began_s)
        return answer

    def worker(self) -> WorkerProcess:
        """Return a worker that runs."""
        return next(worker for worker in self.workers if worker.is_running())

    def told_of(self, connector: str) -> str:
        """Return what the status of a connector says of why it stands."""
        tasks = self.worker().status(connector).get("tasks", [])
        return "\n".join(str(task.get(key, "")) for task in tasks for key in ("trace", "reason"))

    def behind(self) -> int:
        """Return how many rows are written, and have not arrived yet."""
        return self.writer.rows - self.newest()

    def states(self, name: str) -> list[dict[str, Any]]:
        """Return the last changes of state of a connector and its tasks, oldest first."""
        return self.worker().call("GET", name, "/history").json()["states"]

    def rights(self) -> dict[str, Right]:
        """Return what the workers and connectors need, by what it is for."""
        topics = (f"{self.name}-{kind}" for kind in (*INTERNAL, "slots"))
        return {
            **{f"{topic} {does}": Right("TOPIC", topic, does) for topic in topics for does in _DOES},
            "topics made": Right("TOPIC", self.topic, "CREATE"),
            "workers' group": Right("GROUP", self.name, "READ"),
            "leader's transactions": Right("TRANSACTIONAL_ID", f"connect-cluster-{self.name}", "WRITE"),
            **{purpose: right for purpose, (right, _) in self.own_rights().items()},
        }

    def roles(self) -> Mapping[str, Callable[[], int]]:
        """Return which broker does what, by what it does."""
        return {
            "config topic": lambda: self.brokers.leader_of(f"{self.name}-configs"),
            "workers' group": lambda: self.brokers.coordinator_of(self.name),
            "controller": self.brokers.controller,
            **self.coordinators(),
        }

    def stop(self) -> None:
        """End the workers and the writer."""
        self.writer.stop()
        for worker in self.workers:
            if worker.is_running():
                worker.stop()

    def _answers_in_time(self) -> bool:
        for worker in self.workers:
            for name in self.connectors[:1] if worker.is_running() else ():
                url = f"{worker.url}/connectors/{name}/status"
                answer = self.ask(lambda url=url: requests.get(url, timeout=ANSWER_S))
                assert answer.status_code in {200, 409}, answer.text
        return True

    def _runs(self, name: str) -> bool:
        status = self.worker().status(name)
        states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])] if status else []
        return len(states) > 1 and set(states) == {"RUNNING"}


@contextmanager
def flowing(made: F) -> Iterator[F]:
    """A flow that has begun, ended with all its processes."""
    with ExitStack() as stack:
        stack.callback(made.stop)
        stack.enter_context(made.writer)
        made.start()
        yield made
