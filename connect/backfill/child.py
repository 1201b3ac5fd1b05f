"""Runs backfills in child processes of a worker, so that connector code and Spark never run in the worker itself.

`python -m connect.backfill.child` is the command of such a process.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.backfill.job.states import JobStateError
from connect.lib.answering_child import AnsweringChild, Answers
from connect.lib.deadline import Deadline
from connect.runtime.host.parent_death import die_with_parent

Work = Literal["run", "verify", "write_offsets"]
_MODULE: Final = "connect.backfill.child"
_TELLS_S: Final = 5.0
"""The process gives up waiting so many seconds before its worker does, and tells what it waited for."""
_LEAST_S: Final = 1.0
_ENDED: Final = "ended"
_log = logging.getLogger(__name__)


class BackfillChildren:
    """Starts child processes for backfills, and keeps those that run. May be used from any thread."""

    def __init__(self, worker: Mapping[str, str], worker_id: str = "", most: int = 0) -> None:
        """Take the worker's properties, which may hold secrets, and its `host:port` as `worker_id`.

        At most `most` processes that somebody asked for run at a time; 0: any number.
        """
        self._most = most
        self._started: list[AnsweringChild] = []
        self._worker = dict(worker)
        self.worker_id = worker_id
        # A child dies with the thread that starts it, so children are started on a thread that lives as long as the
        # worker.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="backfill-children")
        self._running: dict[str, AnsweringChild] = {}
        self._lock = threading.Lock()  # requests are answered on several threads

    def answer(self, work: Work, spec: Mapping[str, Any], timeout_s: float, *, is_asked_for: bool = True) -> Any:
        """Start a process for this work and return its answer. A `run` answers when its lanes are about to start.

        Other work answers when it is done. What a `run` fails with after its answer is logged, and is in the job's
        record. ConnectError: the work failed. RetriableError: there was no answer within `timeout_s`; the process is
        ended. JobStateError: somebody asked for the work, and there are too many processes already.
        """
        told = _FirstAnswer(spec["name"])
        order = {"work": work, "spec": dict(spec), "timeout_s": max(_LEAST_S, timeout_s - _TELLS_S)}
        child = self._starter.submit(self._start, order, is_asked_for, told).result()
        try:
            kind, answer = told.wait(timeout_s)
        except queue.Empty:
            child.kill()
            self._forget(child)
            raise RetriableError(
                f"Backfill {spec['name']}: {work} was not answered within {timeout_s:.0f} s."
            ) from None
        if kind != "done":
            self._forget(child)  # It may take a while to end, and runs nothing meanwhile.
        match kind:
            case "refused":
                raise ConfigError(answer)
            case "conflict":
                raise JobStateError(answer)
            case "failed":
                raise ConnectError(answer)
            case "ended":
                raise ConnectError(f"The process of backfill {spec['name']} ended with {answer}.")
        return answer

    def is_running(self, name: str) -> bool:
        """Return True if a process of this worker runs the job."""
        with self._lock:
            child = self._running.get(name)
        return child is not None and child.exit_code is None

    @property
    def has_died(self) -> bool:
        """Return True if the process of a job was killed; a process that ends by itself has the exit code 0."""
        with self._lock:
            return any(child.exit_code not in {None, 0} for child in self._running.values())

    def _forget(self, child: AnsweringChild) -> None:
        with self._lock:
            self._running = {name: one for name, one in self._running.items() if one is not child}

    def forget_ended(self) -> None:
        """Forget the processes that have ended."""
        with self._lock:
            self._running = {name: child for name, child in self._running.items() if child.exit_code is None}

    def close(self) -> None:
        """End all processes. Other workers of the cluster go on with their jobs, or people resume them."""
        self._starter.shutdown(wait=True)
        with self._lock:
            for child in self._running.values():
                child.kill()

    def _start(self, order: dict[str, Any], is_asked_for: bool, told: _FirstAnswer) -> AnsweringChild:
        self._started = [child for child in self._started if child.exit_code is None]
        if is_asked_for and 0 < self._most <= len(self._started):
            raise JobStateError(
                f"This worker is at work on {len(self._started)} backfills, and backfill.jobs.max={self._most} in its "
                "file allows no more: wait for one, or ask another worker."
            )
        order |= {"worker": self._worker, "worker_id": self.worker_id, "parent": os.getpid()}
        child = AnsweringChild(_MODULE, order, hear=told.hear, ended=told.ended)
        self._started.append(child)
        if order["work"] == "run":
            with self._lock:
                self._running[order["spec"]["name"]] = child
        return child


class _FirstAnswer:
    """Waits for the first message of a process, which is its answer. An error that it sends later is logged."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._is_answered = False  # of the thread that hears

    def wait(self, timeout_s: float) -> tuple[str, Any]:
        """Return the kind of the answer and the answer. queue.Empty: there was no answer within `timeout_s`."""
        return self._told.get(timeout=timeout_s)

    def hear(self, told: Mapping[str, Any]) -> None:
        """Take one message that the process sends."""
        if self._is_answered:
            _log.error("Backfill %s has ended: %s", self._job, told["answer"])
            return
        self._is_answered = True
        self._told.put((told["kind"], told["answer"]))

    def ended(self, exit_code: int) -> None:
        """Take the end of the process; its exit code is the answer if the process sent none."""
        self._told.put((_ENDED, exit_code))


def main() -> None:
    """Carry out the order that standard input holds, and send the answer."""
    from connect.backfill.driver import Driver
    from connect.backfill.job.connectors import connectors_of
    from connect.backfill.job.spec import BackfillSpec
    from connect.backfill.job.stored_spec import told_to_requests
    from connect.backfill.ownership import UnwrittenStateError
    from connect.runtime.settings.worker_config import WorkerConfig

    answers = Answers()
    order = answers.request()
    deadline = Deadline.after(order["timeout_s"])
    die_with_parent(order["parent"])
    try:
        spec, config = BackfillSpec.model_validate(order["spec"]), WorkerConfig.parse(order["worker"])
        found = connectors_of(spec, None, config, None)
        with Driver(spec, config, found.connector, found.target, by_worker=order["worker_id"]) as driver:
            answers.tell(kind="done", answer=_done(order["work"], driver, deadline))
            if order["work"] == "run":
                driver.run()
    except ConfigError as error:
        answers.tell(kind="refused", answer=told_to_requests(str(error)))
    except JobStateError as error:
        answers.tell(kind="conflict", answer=told_to_requests(str(error)))
    except ConnectError as error:
        answers.tell(kind="failed", answer=told_to_requests(str(error)))
        if isinstance(error, UnwrittenStateError):
            sys.exit(1)


def _done(work: Work, driver: Any, deadline: Deadline) -> Any:
    from connect.backfill.handover import write_offsets
    from connect.backfill.verify.verify import verify

    if work == "run":
        return driver.begin(deadline).chunks
    if work == "verify":
        return verify(driver).as_json()
    return [dict(position.offset or {}) for position in write_offsets(driver, deadline).positions]


if __name__ == "__main__":
    main()
