"""Checks why a task does not move: what is shown, since when, and what it costs nothing to say."""

from __future__ import annotations

from connect.api.errors import RetriableError
from connect.runtime.task.condition import Condition, Conditions, Step
from connect.runtime.task.messages import TaskCondition, decode, encode
from connect.runtime.task.state import State
from connect.runtime.task.traces import trace_of


class Clock:
    now_ms = 1_000

    def __call__(self):
        return self.now_ms


def told(clock=None):
    heard = []
    return heard, Conditions(heard.append, clock or Clock())


def test_retries_keep_the_time_of_the_first_and_name_the_next_and_what_the_error_waits_for():
    clock = Clock()
    heard, conditions = told(clock)
    conditions.retrying(Step.PUT, "sink", RetriableError("refused\n  twice"), 2.0)
    clock.now_ms = 3_000
    conditions.retrying(Step.PUT, "sink", RetriableError("refused"), 4.0)
    conditions.retrying(Step.PUT, "sink", RetriableError("spent", waiting_for="budget"), 4.0)
    assert heard == [
        Condition("refused twice", 1_000, "sink", 1_000, 3_000),
        Condition("refused", 1_000, "sink", 1_000, 7_000),
        Condition("spent", 1_000, "budget", 1_000, 7_000),
    ]


def test_what_goes_on_is_told_once_and_nothing_is_told_of_a_task_that_was_never_held_up():
    heard, conditions = told()
    conditions.over(Step.PUT)
    assert heard == []
    conditions.waiting(Step.TAIL, "rows", "below flush.size")
    conditions.waiting(Step.TAIL, "rows", "below flush.size")
    conditions.over(Step.TAIL)
    conditions.over(Step.TAIL)
    assert heard == [Condition("below flush.size", 1_000, "rows"), None]


def test_steps_that_go_on_cost_nothing_while_another_one_has_something_to_tell(monkeypatch):
    heard, conditions = told()
    conditions.noted(["All rows are made."])
    shown = []
    monkeypatch.setattr(conditions, "_show", lambda: shown.append(True))
    conditions.over(Step.POLL, Step.CONVERT, Step.PUT)
    assert (shown, len(heard)) == ([], 1)


def test_of_several_troubles_the_one_nearest_to_the_rows_is_shown_and_then_the_other():
    heard, conditions = told()
    conditions.retrying(Step.FLUSH, "kafka", RetriableError("no acknowledgement"), 60)
    conditions.retrying(Step.PUT, "sink", RetriableError("refused"), 1)
    conditions.over(Step.PUT)
    assert [condition.reason for condition in heard] == ["no acknowledgement", "refused", "no acknowledgement"]


def test_a_fault_of_a_part_is_told_before_rows_that_only_wait_for_more():
    heard, conditions = told()
    conditions.waiting(Step.TAIL, "rows", "below flush.size")
    conditions.part_waits("sink", "Table a waits: 503.")
    conditions.part_waits("sink", None)
    assert [condition.reason for condition in heard] == ["below flush.size", "Table a waits: 503.", "below flush.size"]


def test_part_of_the_work_that_waits_is_told_while_nothing_holds_up_the_whole():
    clock = Clock()
    heard, conditions = told(clock)
    conditions.part_waits("source", "Table a is left aside.")
    conditions.retrying(Step.POLL, "source", RetriableError("away"), 1)
    clock.now_ms = 2_000
    conditions.part_waits("source", "Tables a and b are left aside.")
    conditions.over(Step.POLL, Step.CONVERT, Step.PUT)
    conditions.part_waits("source", None)
    assert [None if condition is None else (condition.reason, condition.since_ms) for condition in heard] == [
        ("Table a is left aside.", 1_000),
        ("away", 1_000),
        ("Tables a and b are left aside.", 1_000),
        None,
    ]


def test_what_was_told_before_a_state_was_said_is_told_again_behind_it():
    heard, conditions = told()
    conditions.report_again()
    assert heard == []
    conditions.part_waits("source", "Table a is left aside.")
    conditions.report_again()
    assert heard == [Condition("Table a is left aside.", 1_000, "source")] * 2


def test_an_error_without_words_is_told_by_its_type_and_a_long_one_is_cut():
    heard, conditions = told()
    conditions.retrying(Step.PUT, "sink", TimeoutError(), 1)
    conditions.retrying(Step.PUT, "sink", RetriableError("x" * 5_000), 1)
    assert heard[0].reason == "TimeoutError"
    assert len(heard[1].reason) == 500


def test_a_condition_reaches_the_worker_as_it_was_said():
    for condition in (None, Condition("refused", 1, "sink", 1, 2)):
        message = TaskCondition("c", 0, 7, State.RUNNING, condition)
        assert decode(encode(message)) == message


def test_a_trace_begins_with_its_cause_and_holds_the_python_traceback():
    error = RetriableError("The database cannot be reached.")
    error.__cause__ = OSError("connection refused")
    lines = trace_of(error).splitlines()
    assert lines[0] == "connect.api.errors.RetriableError: The database cannot be reached."
    assert lines[1] == "Caused by: OSError: connection refused"
    assert "The above exception was the direct cause of the following exception:" in lines


def test_notes_are_told_while_nothing_is_held_up_one_a_line():
    heard, conditions = told()
    conditions.noted(["Table a\nis merged.", "Table b, too."])
    conditions.part_waits("sink", "Table a waits: 503.")
    conditions.part_waits("sink", None)
    conditions.noted([])
    noted = Condition("Table a is merged.\nTable b, too.", 1_000, "nothing")
    assert heard == [noted, Condition("Table a waits: 503.", 1_000, "sink"), noted, None]
