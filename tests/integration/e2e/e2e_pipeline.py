"""Rows from a database to S3 over three brokers, by two workers, and what has to hold whatever happens to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests
from e2e_brokers import ThreeBrokers
from e2e_orders import Writer, source_config
from e2e_s3 import newest_rows_of, objects_of, rows_of, sink_config
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import S3Endpoint

WAIT_S = 180.0
ANSWER_S = 15.0
"""How long a question about a connector may take while a broker is away."""
_INTERNAL = ("configs", "offsets", "status")


class Pipeline:
    """The source, the topic, the sink and the workers, all named after `name`."""

    def __init__(
        self,
        brokers: ThreeBrokers,
        s3: S3Endpoint,
        bucket: str,
        folder: Path,
        name: str,
        worker_kind: type[WorkerProcess] = WorkerProcess,
    ) -> None:
        self.brokers, self.name = brokers, name
        self.source, self.sink, self.topic = f"{name}-source", f"{name}-sink", f"{name}-orders"
        self._place = (s3, bucket, f"{name}/{self.topic}")
        self._database = folder / "orders.db"
        self.sink_config = sink_config(s3, bucket, name, self.topic)
        three = {f"{kind}.storage.replication.factor": "3" for kind in ("config", "offset", "status")}
        self.workers = [
            worker_kind(
                folder / f"worker-{number}", brokers.bootstrap_servers, name,
                **{"exactly.once.source.support": "enabled", **three, **brokers.worker_settings},
            )
            for number in (1, 2)
        ]  # fmt: skip
        self.writer = Writer(self._database)
        self.slowest_answer_s = 0.0

    def start(self) -> None:
        """Start all, and wait until rows arrive."""
        for worker in self.workers:
            worker.start(WAIT_S)
        replicated = {"topic.creation.default.replication.factor": "3", "topic.creation.default.partitions": "2"}
        source = source_config(self._database, f"{self.name}-", **replicated)
        for name, config in ((self.source, source), (self.sink, self.sink_config)):
            answer = self.workers[0].create(name, config)
            assert answer.status_code == 201, answer.text
        wait_for(lambda: len(objects_of(*self._place)) > 1, WAIT_S, "objects in S3 before anything fails")
        for topic in (self.topic, *(f"{self.name}-{kind}" for kind in _INTERNAL)):
            assert set(self.brokers.replicas(topic)) == {3}, f"{topic}: {self.brokers.replicas(topic)} replicas"

    def until_rows_flow(self) -> float:
        """Wait until a row that was written after now is in S3; return the seconds that took."""
        began_s, seen = time.monotonic(), self.writer.rows
        wait_for(lambda: self._answers_in_time() and self._newest() > seen, WAIT_S, f"row {seen + 1} in S3")
        return time.monotonic() - began_s

    def check(self) -> str:
        """Wait until all is through, then compare: each row once, all running, nothing left. Return what was seen."""
        for name in (self.source, self.sink):
            wait_for(
                lambda name=name: self._runs(name),
                WAIT_S,
                lambda name=name: f"{name} RUNNING, now {self._status(name)}",
            )
        total = self.writer.stop()
        wait_for(lambda: len(rows_of(*self._place)) >= total, WAIT_S, f"{total} rows in S3", pause_s=1)
        ids = sorted(row["id"] for row in rows_of(*self._place))
        lost, twice = total - len(set(ids)), len(ids) - len(set(ids))
        assert ids == list(range(1, total + 1)), f"{lost} lost, {twice} twice, of {total} rows"
        group = f"connect-{self.sink}"
        wait_for(lambda: self.brokers.lag(group, self.topic) == 0, WAIT_S, f"no lag of {group}", pause_s=1)
        failed = [state for name in (self.source, self.sink) for state in self.states(name) if _is_failed(state)]
        told = f"{total} rows, {lost} lost, {twice} twice, slowest answer {self.slowest_answer_s:.1f} s"
        return f"{told}, failed: {failed}"

    def ask(self, do: Callable[[], requests.Response]) -> requests.Response:
        """Ask a worker; how long the slowest answer took is kept."""
        began_s = time.monotonic()
        answer = do()
        self.slowest_answer_s = max(self.slowest_answer_s, time.monotonic() - began_s)
        return answer

    def _answers_in_time(self) -> bool:
        for worker in self.workers:
            if worker.is_running():
                url = f"{worker.url}/connectors/{self.source}/status"
                answer = self.ask(lambda url=url: requests.get(url, timeout=ANSWER_S))
                assert answer.status_code in {200, 409}, answer.text
        return True

    def behind(self) -> int:
        """Return how many rows are in the database, and not in S3 yet."""
        return self.writer.rows - self._newest()

    def _newest(self) -> int:
        return max((row["id"] for row in newest_rows_of(*self._place)), default=0)

    def _runs(self, name: str) -> bool:
        status = self._status(name)
        states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])] if status else []
        return len(states) > 1 and set(states) == {"RUNNING"}

    def _status(self, name: str) -> dict[str, Any]:
        return next(worker for worker in self.workers if worker.is_running()).status(name)

    def states(self, name: str) -> list[dict[str, Any]]:
        """Return the last changes of state of a connector and its tasks, oldest first."""
        worker = next(worker for worker in self.workers if worker.is_running())
        return worker.call("GET", name, "/history").json()["states"]

    def stop(self) -> None:
        """End the workers and the writer."""
        self.writer.stop()
        for worker in self.workers:
            if worker.is_running():
                worker.stop()


def _is_failed(state: dict[str, Any]) -> bool:
    return state["state"] == "FAILED"


@contextmanager
def pipeline(
    brokers: ThreeBrokers,
    s3: S3Endpoint,
    bucket: str,
    folder: Path,
    name: str,
    worker_kind: type[WorkerProcess] = WorkerProcess,
) -> Iterator[Pipeline]:
    """A pipeline through which rows flow, ended with all its processes."""
    with ExitStack() as stack:
        made = Pipeline(brokers, s3, bucket, folder, name, worker_kind)
        stack.callback(made.stop)
        stack.enter_context(made.writer)
        made.start()
        yield made
