"""Reports a run's states and conditions to the worker, in such an order that the last report is the true one."""

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
    """Reports the states of one run, and what holds it up.

    The task's thread reports them; another thread reports calls that do not return. A condition names the run's state,
    so both are sent under one lock. Otherwise a condition that is sent after a pause could take the pause back.
    """

    def __init__(self, task: TaskId, run: int, report: Callable[[TaskState | TaskCondition], None]) -> None:
        self._task = task
        self._run = run
        self._report = report
        self._lock = threading.Lock()
        self._state: State | None = None
        self._has_spoken = False

    def say_state(self, state: State | None, error: BaseException | None = None, *, retriable: bool = False) -> None:
        """Report a state, None for a run that has ended. `error` is what ended it; its secrets are hidden."""
        trace = None if error is None else SECRET_TEXTS.shown(trace_of(error))
        reason = None if error is None else SECRET_TEXTS.shown(one_line(error))
        with self._lock:
            self._state, self._has_spoken = state, True
            self._report(TaskState(*self._task, self._run, state, trace, retriable, reason))

    def say_condition(self, condition: Condition | None) -> None:
        """Report a condition with the run's state, but none while the run has no state, as it opens or has ended."""
        shown = None if condition is None else hidden(condition, SECRET_TEXTS.shown)
        with self._lock:
            if self._state is not None:
                self._report(TaskCondition(*self._task, self._run, self._state, shown))

    def say_resuming(self, condition: Condition) -> None:
        """Report a run that begins anew by itself, as RESTARTING, with what ended its work. It has no state then."""
        shown = hidden(condition, SECRET_TEXTS.shown)
        with self._lock:
            self._state, self._has_spoken = None, False
            self._report(TaskCondition(*self._task, self._run, State.RESTARTING, shown))

    def say_opening(self, condition: Condition) -> None:
        """Report what a run waits for that has no state yet, as RESTARTING.

        Without it the state of the run before would stand, or none. UNASSIGNED would say that the worker has let go.
        """
        shown = hidden(condition, SECRET_TEXTS.shown)
        with self._lock:
            if not self._has_spoken:
                self._report(TaskCondition(*self._task, self._run, State.RESTARTING, shown))
