"""Tells the worker that its task host lives, and how the host's runs fare."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Final

from connect.runtime.host.freed_memory import give_back_freed_memory
from connect.runtime.host.task_run import TaskRun
from connect.runtime.task.messages import Figures, Heartbeat, LoggersKnown, TellFigures, ToWorker
from connect.runtime.task.task_id import TaskId
from connect.telemetry.log_levels import LOG_LEVELS

HEARTBEAT_S: Final = 1.0
MARK_S: Final = 10.0
"""So many seconds apart the counters behind all rates are noted, also if nobody reads the rates."""


class RunReports:
    """Says once a second that the host lives, in one short message, however many tasks it has.

    The figures of all tasks are many, so they are sent only if the worker asks for them. One thread calls `report`;
    any thread may call `ask`.
    """

    def __init__(
        self,
        runs: dict[TaskId, TaskRun],
        send: Callable[[ToWorker], None],
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the host's runs, to which the host adds new ones; the reports remove those that have ended."""
        self._runs = runs
        self._send = send
        self._clock_s = clock_s
        self._asked: queue.SimpleQueue[TellFigures] = queue.SimpleQueue()
        self._told_loggers: set[str] = set()
        self._beat_s = self._mark_s = clock_s()

    def ask(self, asked: TellFigures) -> None:
        """Have the figures sent soon, as the answer to this question."""
        self._asked.put(asked)

    def report(self) -> None:
        """Wait until somebody asks or a second is over, then send what is due."""
        left_s = self._beat_s - self._clock_s()
        try:
            asked = self._asked.get(timeout=left_s) if left_s > 0 else None
        except queue.Empty:
            asked = None
        if asked is None:
            self._beat()
        else:
            self._tell(asked)

    def _tell(self, asked: TellFigures) -> None:
        runs = list(self._runs.items())
        tasks = {str(task_id): run.figures.snapshot() for task_id, run in runs}
        self._send(Figures(tasks, {"host_cpu_s_total": time.process_time()}, asked.number))

    def _beat(self) -> None:
        """Send a heartbeat, watch each run, and forget those that have ended."""
        now_s = self._clock_s()
        self._beat_s = now_s + HEARTBEAT_S
        self._send(Heartbeat())
        if new := LOG_LEVELS.all().keys() - self._told_loggers:
            self._send(LoggersKnown(sorted(new)))
            self._told_loggers |= new
        runs = list(self._runs.items())
        for _, run in runs:
            run.report_topics()
            run.watch()
        if now_s >= self._mark_s:
            self._mark_s = now_s + MARK_S
            for _, run in runs:
                run.figures.mark_rates()
        ended = [task_id for task_id, run in runs if not run.alive and self._runs.get(task_id) is run]
        for task_id in ended:
            del self._runs[task_id]
        if ended:
            give_back_freed_memory()
