"""What an error that ends a check is noted as, and what a run that does not begin is."""

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
