"""Runs lanes in processes of this machine, without Java, for small tables and for tests."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess

from connect.api.errors import ConnectError
from connect.backfill.job.chunk import LaneReport, Signal
from connect.backfill.job.kinds import JobConnectors
from connect.backfill.lane.lane import LaneTask, RunLane, load, run_lane
from connect.lib import python_child
from connect.runtime.host.parent_death import die_with_parent

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Process:
    """Holds a process of the engine. `task` is the lane that it runs now; None if it runs none."""

    process: SpawnProcess
    lanes: Connection
    task: LaneTask | None = None


class LocalEngine:
    """Runs lanes in as many processes as there are cores, or as are given. Owned by the driver's thread."""

    def __init__(self, processes: int, retries: int, run: RunLane = run_lane) -> None:
        """Use this many processes, or one per core if `processes` is 0.

        A lane whose process died is run again up to `retries` times. `run` is the function that a process calls for its
        lane.
        """
        self._processes = processes or os.cpu_count() or 1
        self._retries = retries
        self._run = run
        self._context: SpawnContext = python_child.spawn_context()
        self._running: list[_Process] = []

    def prepare(self, connectors: JobConnectors, lanes: int) -> None:
        """Start the processes for `lanes` lanes; they load the libraries of the connectors while the job is planned."""
        self._running = [self._start() for _ in range(min(self._processes, lanes))]
        for one in self._running:
            _give(one, connectors)

    def run(self, tasks: Sequence[LaneTask], at_once: int) -> list[LaneReport]:
        """Run each lane to its end, at most `at_once` of them at a time, and return their reports.

        A lane that died is run again. No lane is started after one that ended by its owner's signal. ConnectError: a
        lane failed too often.
        """
        waiting, reports = list(reversed(tasks)), list[LaneReport]()
        tries: dict[int, int] = {}
        # A process loads drivers and database libraries once, and not for each lane.
        missing = min(self._processes, len(tasks), at_once) - len(self._running)
        self._running += [self._start() for _ in range(missing)]
        while waiting or any(one.task for one in self._running):
            for one in self._running[:at_once]:
                if one.task is None and waiting:
                    one.task = waiting.pop()
                    _give(one, one.task)
            for ended in self._ended():
                task, answer = ended.task, _answer(ended)
                assert task is not None
                ended.task = None
                if isinstance(answer, LaneReport):
                    reports.append(answer)
                    if answer.signal is not Signal.GO_ON:
                        waiting.clear()
                    continue
                lane = task.work.lane
                tries[lane] = tries.get(lane, 0) + 1
                if tries[lane] > self._retries:
                    raise ConnectError(f"Lane {lane} failed {tries[lane]} times, the last time so: {answer}")
                _log.warning("Lane %d is run again: %s", lane, answer)
                waiting.append(task)
            self._running = [one if one.task or one.process.is_alive() else self._start() for one in self._running]
        return reports

    def close(self) -> None:
        """End the processes. May be called twice."""
        running, self._running = self._running, []
        for one in running:
            one.process.kill()
            one.process.join()

    def _start(self) -> _Process:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_main, args=(self._run, theirs, os.getpid()), name="backfill-lanes", daemon=True
        )
        process.start()
        theirs.close()
        return _Process(process, ours)

    def _ended(self) -> list[_Process]:
        """Wait until at least one process has answered or died, and return those that have."""
        ready = wait([one.lanes for one in self._running if one.task is not None])
        return [one for one in self._running if one.lanes in ready]


def _give(to: _Process, work: LaneTask | JobConnectors) -> None:
    """Send a lane to a process. If the process has died meanwhile, waiting for its answer tells so."""
    with suppress(BrokenPipeError, ConnectionResetError):
        to.lanes.send(work)


def _answer(ended: _Process) -> LaneReport | str:
    """Return the report of a process, or in words why there is none."""
    try:
        answer: LaneReport | str = ended.lanes.recv()
    except (EOFError, ConnectionResetError):
        ended.lanes.close()
        ended.process.join()
        answer = f"its process ended with exit code {ended.process.exitcode}"
    return answer


def _main(run: RunLane, lanes: Connection, parent: int) -> None:
    die_with_parent(parent)
    # A person's Ctrl-C reaches all processes of the terminal; this one is ended by the driver instead.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        work: LaneTask | JobConnectors = lanes.recv()
        if isinstance(work, JobConnectors):
            load(work)
            continue
        try:
            lanes.send(run(work))
        except ConnectError as error:
            lanes.send(f"{type(error).__name__}: {error}")
