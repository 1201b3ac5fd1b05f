"""Tells the worker how a run fares, in an order in which the last word is the true one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from connect.runtime.task.condition import Condition, hidden, one_line
from connect.runtime.task.messages import TaskCondition, TaskState
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.traces import trace_of
from connect.telemetry.secret_texts import SECRET_TEXTS


class StateReports:
    """The states of one run, and what holds it up. The task's thread tells them, and another one what does not return.

    A condition goes with the state that the run has. Both are sent under one lock: were a pause sent in between, the
    condition behind it would take it back for ever.
    """

    def __init__(self, task: TaskId, run: int, report: Callable[[TaskState | TaskCondition], None]) -> None:
        self._task = task
        self._run = run
        self._report = report
        self._lock = threading.Lock()
        self._state: State | None = None

    def say_state(self, state: State | None, error: BaseException | None = None, *, retriable: bool = False) -> None:
        """Report a state, None for a run that has ended. `error` is what ended it; its secrets are hidden."""
        trace = None if error is None else SECRET_TEXTS.shown(trace_of(error))
        reason = None if error is None else SECRET_TEXTS.shown(one_line(error))
        with self._lock:
            self._state = state
            self._report(TaskState(*self._task, self._run, state, trace, retriable, reason))

    def say_condition(self, condition: Condition | None) -> None:
        """Report a condition of a run that has said its state: what opens or has ended is told by that."""
        shown = None if condition is None else hidden(condition, SECRET_TEXTS.shown)
        with self._lock:
            if self._state is not None:
                self._report(TaskCondition(*self._task, self._run, self._state, shown))
