"""The last word about a run is the true one, whichever thread says it."""

from __future__ import annotations

import threading

from connect.runtime.host.state_reports import StateReports
from connect.runtime.task.condition import Condition
from connect.runtime.task.messages import TaskCondition, TaskState
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

SLOW = Condition("poll has not returned for 15 s.", 1, "source")


def test_a_condition_that_is_told_during_a_pause_does_not_take_it_back():
    told: list[TaskState | TaskCondition] = []
    is_told, paused = threading.Event(), threading.Event()

    def report(message: TaskState | TaskCondition) -> None:
        if isinstance(message, TaskCondition):
            is_told.set()
            paused.wait(0.3)  # as long as a busy machine may take between a look at the state and its sending
        told.append(message)

    reports = StateReports(TaskId("c", 0), 1, report)
    reports.say_state(State.RUNNING)
    watching = threading.Thread(target=reports.say_condition, args=[SLOW])
    watching.start()
    assert is_told.wait(60)
    reports.say_state(State.PAUSED)
    paused.set()
    watching.join(60)
    assert [message.state for message in told] == [State.RUNNING, State.RUNNING, State.PAUSED]


def test_what_opens_or_has_ended_has_no_condition():
    told: list[TaskState | TaskCondition] = []
    reports = StateReports(TaskId("c", 0), 1, told.append)
    reports.say_condition(SLOW)
    reports.say_state(None)
    reports.say_condition(SLOW)
    assert [type(message) for message in told] == [TaskState]


def test_a_run_that_opens_for_long_is_told_and_one_that_has_spoken_is_not_taken_back():
    told: list[TaskState | TaskCondition] = []
    reports = StateReports(TaskId("c", 0), 1, told.append)
    reports.say_opening(SLOW)
    reports.say_state(State.RUNNING)
    reports.say_opening(SLOW)
    reports.say_state(None)
    reports.say_opening(SLOW)
    assert [message.state for message in told] == [State.RESTARTING, State.RUNNING, None]
