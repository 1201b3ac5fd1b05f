"""Lets rows flow through two workers over three brokers, and checks what must hold whatever happens to these."""

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
"""A question about a connector may take this many seconds while a broker is away."""
INTERNAL = ("configs", "offsets", "status")
F = TypeVar("F", bound="Flow")
_DOES = ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")


class Rows(Protocol):
    """Stands for the writer of the rows. Their numbers are 1 to `rows`."""

    @property
    def rows(self) -> int:
        """Return how many rows have been written so far."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def stop(self) -> int:
        """End the writer, and return how many rows there are."""


class Flow(ABC):
    """Holds the rows, the connectors and the workers; the names of all are made of `name`."""

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
    """These connectors run while rows flow."""
    topic: str
    """The rows are in this topic."""
    rows_per_s: int
    """This many rows are written in a second."""
    denied_s = 0.0
    """A right stays away for this many seconds after the flow has said that it lacks it."""
    look_s = 0.1
    """Between two looks for arrived rows there are this many seconds."""
    drain_s = WAIT_S
    """The rows that are left may take this many seconds at the end."""
    lost: tuple[tuple[str, ...], ...]
    """The test takes these of `own_rights` away, one group of them at a time."""

    @abstractmethod
    def begin(self) -> None:
        """Create what the rows flow through, and wait until some have arrived."""

    @abstractmethod
    def newest(self) -> int:
        """Return a number that grows whenever rows arrive: the newest row's number if it is known."""

    @abstractmethod
    def arrived(self) -> list[int]:
        """Return the number of each row that has arrived, as often as it has."""

    @abstractmethod
    def coordinators(self) -> Mapping[str, Callable[[], int]]:
        """Return the brokers on which the connectors depend, by what each is needed for."""

    @abstractmethod
    def own_rights(self) -> Mapping[str, tuple[Right, str]]:
        """Return the rights that the connectors need, by what for, each with the connector that says when the right is
        gone.
        """

    def start(self) -> None:
        """Start everything, and wait until rows arrive."""
        for worker in self.workers:
            worker.start(WAIT_S)
        self.begin()
        for topic in (self.topic, *(f"{self.name}-{kind}" for kind in INTERNAL)):
            assert set(self.brokers.replicas(topic)) == {3}, f"{topic}: {self.brokers.replicas(topic)} replicas"

    def create(self, name: str, config: Mapping[str, str], worker: int = 0) -> None:
        """Create a connector; on a loaded machine a worker may need several tries to check it."""

        def answered() -> requests.Response | None:
            answer = self.workers[worker].create(name, config)
            return None if "did not answer check within" in answer.text else answer

        answer = wait_for(answered, WAIT_S, f"an answer to the creation of {name}")
        assert answer.status_code == 201, answer.text

    def until_rows_flow(self) -> float:
        """Wait until a row arrives that was written after now, and return how many seconds that took."""
        began_s, seen = time.monotonic(), self.seen_now()
        wait_for(lambda: self._answers_in_time() and self.newest() > seen, WAIT_S, self.standstill, self.look_s)
        return time.monotonic() - began_s

    def seen_now(self) -> int:
        """Return the number that `newest` exceeds once a row has arrived that was written after now."""
        return self.writer.rows

    def standstill(self) -> str:
        """Return the text of the failure if no row arrives."""
        return f"a row after {self.newest()}; {[self.worker().status(name) for name in self.connectors]}"

    def check(self) -> str:
        """Wait until all rows are through, and then check that each came once, that everything runs, and that nothing
        is left.

        Return what was seen.
        """
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
        """Return how much is left to do when every row has arrived."""
        return 0

    def ask(self, do: Callable[[], requests.Response]) -> requests.Response:
        """Ask a worker, and remember how long the slowest answer took."""
        began_s = time.monotonic()
        answer = do()
        self.slowest_answer_s = max(self.slowest_answer_s, time.monotonic() - began_s)
        return answer

    def worker(self) -> WorkerProcess:
        """Return a worker that runs."""
        return next(worker for worker in self.workers if worker.is_running())

    def told_of(self, connector: str) -> str:
        """Return why a connector stands still, by its status."""
        tasks = self.worker().status(connector).get("tasks", [])
        return "\n".join(str(task.get(key, "")) for task in tasks for key in ("trace", "reason"))

    def behind(self) -> int:
        """Return how many rows are written and have not arrived yet."""
        return self.writer.rows - self.newest()

    def states(self, name: str) -> list[dict[str, Any]]:
        """Return the last changes of the states of a connector and its tasks, the oldest first."""
        return self.worker().call("GET", name, "/history").json()["states"]

    def rights(self) -> dict[str, Right]:
        """Return the rights that workers and connectors need, by what each is for."""
        topics = (f"{self.name}-{kind}" for kind in (*INTERNAL, "slots"))
        return {
            **{f"{topic} {does}": Right("TOPIC", topic, does) for topic in topics for does in _DOES},
            "topics made": Right("TOPIC", self.topic, "CREATE"),
            "workers' group": Right("GROUP", self.name, "READ"),
            "leader's transactions": Right("TRANSACTIONAL_ID", f"connect-cluster-{self.name}", "WRITE"),
            **{purpose: right for purpose, (right, _) in self.own_rights().items()},
        }

    def roles(self) -> Mapping[str, Callable[[], int]]:
        """Return the broker that has each role, by role."""
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
    """Yield a flow that has begun; in the end it is stopped with all its processes."""
    with ExitStack() as stack:
        stack.callback(made.stop)
        stack.enter_context(made.writer)
        made.start()
        yield made
