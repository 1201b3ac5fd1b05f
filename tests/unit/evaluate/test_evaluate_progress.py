"""What an error that ends a check is noted as."""

from __future__ import annotations

from connect.api.errors import ConnectError
from connect.evaluate.progress import Progress
from connect.evaluate.result import Check, Outcome


def test_an_error_that_ends_a_check_is_noted_under_its_name_and_the_next_one_is_done():
    progress = Progress(lambda text: None)

    def broken() -> Check:
        raise ConnectError("nobody answers.")

    progress.attempt(8, "Delivery under kills", broken)
    progress.attempt(9, "Schema change", lambda: Check(9, "Schema change", Outcome.PASS, "taken"))
    assert [(check.number, check.name, check.outcome, check.summary) for check in progress.checks] == [
        (8, "Delivery under kills", Outcome.FAIL, "It could not be run to its end: nobody answers."),
        (9, "Schema change", Outcome.PASS, "taken"),
    ]
