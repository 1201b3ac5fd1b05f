"""Runs backfills in child processes of a worker, so that connector code and Spark never run in the worker itself."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Final, Literal

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.backfill.job.job import JobStateError
from connect.lib import python_child
from connect.lib.deadline import Deadline
from connect.runtime.host.parent_death import die_with_parent

Work = Literal["run", "verify", "write_offsets"]
_STARTING: Final = 30.0


@dataclass(frozen=True, slots=True, repr=False)
class _Order:
    """The work of a child process. `worker` may hold secrets."""

    work: Work
    worker: dict[str, str]
    worker_id: str
    spec: dict[str, Any]


class BackfillChildren:
    """Starts such processes, and keeps those that run. May be used from any thread."""

    def __init__(self, worker: Mapping[str, str], worker_id: str = "", most: int = 0) -> None:
        """`worker` holds the worker's properties, which may hold secrets; `worker_id` is its `host:port`; `most`: so
        many at a time that somebody asks for, 0: any number.
        """
        self._most = most
        self._started: list[SpawnProcess] = []
        self._worker = dict(worker)
        self.worker_id = worker_id
        # Children die with the thread that starts them, so that is one that lives as long as the worker.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="backfill-children")
        self._running: dict[str, SpawnProcess] = {}
        self._lock = threading.Lock()  # requests are answered on several threads

    def answer(self, work: Work, spec: Mapping[str, Any], timeout_s: float, *, is_asked_for: bool = True) -> Any:
        """What a process says of this work: for `run` once lanes are about to start, for others when it is done.

        ConnectError: what it failed with. RetriableError: nothing by then; it is ended. JobStateError: there are too
        many, and somebody asked for one more.
        """
        process, answers = self._starter.submit(self._start, work, dict(spec), is_asked_for).result()
        if not answers.poll(timeout_s):
            process.kill()
            raise RetriableError(f"Backfill {spec['name']}: {work} was not answered within {timeout_s:.0f} s.")
        try:
            kind, told = answers.recv()
        except EOFError:
            process.join()
            raise ConnectError(f"The process of backfill {spec['name']} ended with {process.exitcode}.") from None
        if kind == "refused":
            raise ConfigError(told)
        if kind == "conflict":
            raise JobStateError(told)
        if kind == "failed":
            raise ConnectError(told)
        return told

    def is_running(self, name: str) -> bool:
        """Whether a process of this worker runs the job."""
        with self._lock:
            process = self._running.get(name)
        return process is not None and process.is_alive()

    @property
    def has_died(self) -> bool:
        """Whether the process of a job was killed; one that ends by itself has the exit code 0."""
        with self._lock:
            return any(process.exitcode not in {None, 0} for process in self._running.values())

    def forget_ended(self) -> None:
        """Forget the processes that have ended."""
        with self._lock:
            self._running = {name: process for name, process in self._running.items() if process.exitcode is None}

    def close(self) -> None:
        """End all processes. Their jobs go on in another worker of the cluster, or when somebody resumes them."""
        self._starter.shutdown(wait=True)
        with self._lock:
            for process in self._running.values():
                process.kill()

    def _start(self, work: Work, spec: dict[str, Any], is_asked_for: bool) -> tuple[SpawnProcess, Connection]:
        self._started = [process for process in self._started if process.is_alive()]
        if is_asked_for and 0 < self._most <= len(self._started):
            raise JobStateError(
                f"This worker is at work on {len(self._started)} backfills, and backfill.jobs.max={self._most} in its "
                "file allows no more: wait for one, or ask another worker."
            )
        context = python_child.spawn_context()
        receiving, sending = context.Pipe(duplex=False)
        # No daemon: engine local has children of its own.
        process = context.Process(
            target=_main,
            args=(_Order(work, self._worker, self.worker_id, spec), sending, os.getpid()),
            name=f"backfill-{spec['name']}",
        )
        process.start()
        self._started.append(process)
        sending.close()
        if work == "run":
            with self._lock:
                self._running[spec["name"]] = process
        return process, receiving


def _main(order: _Order, answers: Connection, parent: int) -> None:
    from connect.backfill.driver import Driver
    from connect.backfill.job.connectors import connectors_of
    from connect.backfill.job.spec import BackfillSpec
    from connect.backfill.job.stored_spec import told_to_requests
    from connect.runtime.settings.worker_config import WorkerConfig

    die_with_parent(parent)
    try:
        spec, config = BackfillSpec.model_validate(order.spec), WorkerConfig.parse(order.worker)
        found = connectors_of(spec, None, config, None)
        with Driver(spec, config, found.connector, found.target, by_worker=order.worker_id) as driver:
            answers.send(("done", _done(order.work, driver)))
            if order.work == "run":
                driver.run()
    except ConfigError as error:
        answers.send(("refused", told_to_requests(str(error))))
    except JobStateError as error:
        answers.send(("conflict", told_to_requests(str(error))))
    except ConnectError as error:
        answers.send(("failed", told_to_requests(str(error))))


def _done(work: Work, driver: Any) -> Any:
    from connect.backfill.handover import write_offsets
    from connect.backfill.verify.verify import verify

    if work == "run":
        return driver.begin().chunks
    if work == "verify":
        return verify(driver).as_json()
    return [dict(position.offset or {}) for position in write_offsets(driver, Deadline.after(_STARTING)).positions]
