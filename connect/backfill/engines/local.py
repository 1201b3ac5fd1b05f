"""Lanes as processes of this machine: no Java, the engine of small tables and of tests."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess

from connect.api.errors import ConnectError
from connect.backfill.chunk import LaneReport
from connect.backfill.lane import LaneTask, RunLane, run_lane
from connect.runtime.parent_death import die_with_parent

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Process:
    """One of the engine's processes. `task`: the lane that it runs now; None: it has none."""

    process: SpawnProcess
    lanes: Connection
    task: LaneTask | None = None


class LocalEngine:
    """One process per core, each of which runs one lane after the other. Owned by the driver's thread."""

    def __init__(self, processes: int, retries: int, run: RunLane = run_lane) -> None:
        """`processes` 0: one per core. `retries`: how often a lane whose process died is run again. `run`: what a
        process does with its lane.
        """
        self._processes = processes or os.cpu_count() or 1
        self._retries = retries
        self._run = run
        self._context: SpawnContext = multiprocessing.get_context("spawn")

    def run(self, tasks: Sequence[LaneTask]) -> list[LaneReport]:
        """Run each lane to its end, again where it died. ConnectError: one failed too often."""
        waiting, reports = list(reversed(tasks)), list[LaneReport]()
        tries: dict[int, int] = {}
        # Drivers and database libraries are loaded once in each process, not once a lane.
        running = [self._start() for _ in range(min(self._processes, len(tasks)))]
        try:
            while len(reports) < len(tasks):
                for one in running:
                    if one.task is None and waiting:
                        one.task = waiting.pop()
                        _give(one)
                for ended in self._ended(running):
                    task, answer = ended.task, _answer(ended)
                    assert task is not None
                    ended.task = None
                    if isinstance(answer, LaneReport):
                        reports.append(answer)
                        continue
                    lane = task.work.lane
                    tries[lane] = tries.get(lane, 0) + 1
                    if tries[lane] > self._retries:
                        raise ConnectError(f"Lane {lane} failed {tries[lane]} times, the last time so: {answer}")
                    _log.warning("Lane %d is run again: %s", lane, answer)
                    waiting.append(task)
                running = [one if one.task or one.process.is_alive() else self._start() for one in running]
        finally:
            for one in running:
                one.process.kill()
                one.process.join()
        return reports

    def _start(self) -> _Process:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_main, args=(self._run, theirs, os.getpid()), name="backfill-lanes", daemon=True
        )
        process.start()
        theirs.close()
        return _Process(process, ours)

    @staticmethod
    def _ended(running: Sequence[_Process]) -> list[_Process]:
        """Waits until at least one has answered or died."""
        ready = wait([one.lanes for one in running if one.task is not None])
        return [one for one in running if one.lanes in ready]


def _give(to: _Process) -> None:
    """A process that has died meanwhile answers with its end."""
    with suppress(BrokenPipeError, ConnectionResetError):
        to.lanes.send(to.task)


def _answer(ended: _Process) -> LaneReport | str:
    """The report, or why there is none."""
    try:
        answer: LaneReport | str = ended.lanes.recv()
    except (EOFError, ConnectionResetError):
        ended.lanes.close()
        ended.process.join()
        answer = f"its process ended with exit code {ended.process.exitcode}"
    return answer


def _main(run: RunLane, lanes: Connection, parent: int) -> None:
    die_with_parent(parent)
    while True:
        task: LaneTask = lanes.recv()
        try:
            lanes.send(run(task))
        except ConnectError as error:
            lanes.send(f"{type(error).__name__}: {error}")
