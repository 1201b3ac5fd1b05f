"""Checks what an error that ends a check is noted as, and what a run that does not begin is."""

from __future__ import annotations

import pytest

from connect.api.errors import ConnectError
from connect.poc.sandbox.connector_runs import RunTime
from connect.poc.sandbox.progress import CheckProgress
from connect.poc.sandbox.result import Check, Outcome


def test_an_error_that_ends_a_check_is_noted_under_its_name_and_the_next_one_is_done():
    progress = CheckProgress(lambda text: None)

    def broken() -> Check:
        raise ConnectError("nobody answers.")

    progress.attempt(8, "Delivery under kills", broken)
    progress.attempt(9, "Schema change", lambda: Check(9, "Schema change", Outcome.PASS, "taken"))
    assert [(check.number, check.name, check.outcome, check.summary) for check in progress.checks] == [
        (8, "Delivery under kills", Outcome.FAIL, "It could not be run to its end: nobody answers."),
        (9, "Schema change", Outcome.PASS, "taken"),
    ]


def test_a_run_whose_tasks_never_run_is_not_taken_for_one_that_is_over():
    with pytest.raises(ConnectError, match="did not run within 0 s"):
        RunTime(60.0, start_s=0.0).wait()
    begun = RunTime(0.0, start_s=60.0)
    begun.saw({"tasks": [{"state": "RUNNING"}]})
    assert not begun.wait(), "its time is over"


def test_checks_that_were_done_together_have_their_time_once(monkeypatch: pytest.MonkeyPatch):
    now_s = 100.0
    monkeypatch.setattr("connect.poc.sandbox.progress.time.monotonic", lambda: now_s)
    progress = CheckProgress(lambda text: None, _began_s=now_s)
    now_s = 112.0
    progress.note(*(Check(number, "Sample", Outcome.PASS, "seen") for number in (3, 4, 5)))
    now_s = 115.0
    progress.note(Check(6, "Throughput", Outcome.PASS, "fast"))
    told = [(check.number, check.took_s, check.done_with) for check in progress.checks]
    assert told == [(3, 12.0, None), (4, 0.0, 3), (5, 0.0, 3), (6, 3.0, None)]
