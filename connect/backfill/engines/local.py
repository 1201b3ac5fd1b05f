"""Lanes as processes of this machine: no Java, the engine of small tables and of tests."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess

from connect.api.errors import ConnectError
from connect.backfill.chunk import LaneReport
from connect.backfill.lane import LaneTask, RunLane, run_lane
from connect.runtime.parent_death import die_with_parent

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Running:
    task: LaneTask
    process: SpawnProcess
    answers: Connection


class LocalEngine:
    """As many processes at a time as there are cores, one lane in each. Owned by the driver's thread."""

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
        waiting, running, reports = list(reversed(tasks)), list[_Running](), list[LaneReport]()
        tries: dict[int, int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self._processes:
                    running.append(self._start(waiting.pop()))
                for ended in self._ended(running):
                    running.remove(ended)
                    answer = _answer(ended)
                    if isinstance(answer, LaneReport):
                        reports.append(answer)
                        continue
                    lane = ended.task.work.lane
                    tries[lane] = tries.get(lane, 0) + 1
                    if tries[lane] > self._retries:
                        raise ConnectError(f"Lane {lane} failed {tries[lane]} times, the last time so: {answer}")
                    _log.warning("Lane %d is run again: %s", lane, answer)
                    waiting.append(ended.task)
        finally:
            for one in running:
                one.process.kill()
                one.process.join()
        return reports

    def _start(self, task: LaneTask) -> _Running:
        receiving, sending = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_main, args=(self._run, task, sending, os.getpid()), name=f"lane-{task.work.lane}", daemon=True
        )
        process.start()
        sending.close()
        return _Running(task, process, receiving)

    @staticmethod
    def _ended(running: Sequence[_Running]) -> list[_Running]:
        """Waits until at least one has answered or died."""
        ready = wait([one.answers for one in running])
        return [one for one in running if one.answers in ready]


def _answer(ended: _Running) -> LaneReport | str:
    """The report, or why there is none."""
    try:
        answer: LaneReport | str = ended.answers.recv()
    except EOFError:
        ended.process.join()
        answer = f"its process ended with exit code {ended.process.exitcode}"
    ended.answers.close()
    ended.process.join()
    return answer


def _main(run: RunLane, task: LaneTask, answers: Connection, parent: int) -> None:
    die_with_parent(parent)
    try:
        answers.send(run(task))
    except ConnectError as error:
        answers.send(f"{type(error).__name__}: {error}")
