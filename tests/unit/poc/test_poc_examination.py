"""Checks that a connector's findings about its user's data become a part of the checks that they belong to."""

from __future__ import annotations

import pytest

from connect.api.optional.findings import Aspect, Finding, Weight
from connect.poc.sandbox.examination import Examination
from connect.poc.sandbox.result import Check, Outcome, Table

GRANT = 'GRANT SELECT ON "s"."t" TO "me";'
REACHED = Check(2, "Reach", Outcome.PASS, "All is in reach.")


@pytest.mark.parametrize(
    ("weight", "outcome"), [(Weight.TOLD, Outcome.PASS), (Weight.WARNS, Outcome.WARN), (Weight.FAILS, Outcome.FAIL)]
)
def test_a_finding_weighs_what_the_connector_says(weight, outcome):
    told = Examination([Finding(Aspect.REACH, "A right is missing.", GRANT, weight)]).added_to(REACHED, Aspect.REACH)
    assert told.outcome is outcome
    assert told.tables[-1].rows == [(GRANT,)], "it can be pasted as it is"
    assert (GRANT in told.summary) == (outcome is not Outcome.PASS)


def test_a_check_that_could_not_be_made_fails_where_a_right_is_missing():
    untested = Check(2, "Reach", Outcome.NOT_TESTED, "The configuration is broken.")
    finding = Finding(Aspect.REACH, "The user may not read table s.t.", GRANT, Weight.FAILS)
    told = Examination([finding]).added_to(untested, Aspect.REACH)
    assert (told.outcome, told.summary) == (Outcome.FAIL, f"{finding.text} Run: {GRANT}")


def test_the_worst_comes_first_and_a_worse_check_stays_as_it_is():
    found = Examination(
        [Finding(Aspect.CURSOR, "deletes", weight=Weight.TOLD), Finding(Aspect.CURSOR, "nulls", weight=Weight.FAILS)]
    )
    cursor = Check(6, "Cursor", Outcome.PASS, "fine")
    assert [row[0] for row in found.added_to(cursor, Aspect.CURSOR).tables[0].rows] == ["nulls", "deletes"]
    failed = Check(6, "Cursor", Outcome.FAIL, "ties are skipped")
    assert found.added_to(failed, Aspect.CURSOR).summary == "ties are skipped"


def test_what_is_of_another_check_or_was_said_before_is_left_out():
    found = Examination([Finding(Aspect.CURSOR, "no index begins with id")])
    assert found.added_to(REACHED, Aspect.REACH) is REACHED
    warned = Check(6, "Cursor", Outcome.WARN, "w", (Table("warns", ("warning",), [("no index begins with id",)]),))
    assert found.added_to(warned, Aspect.CURSOR) is warned
