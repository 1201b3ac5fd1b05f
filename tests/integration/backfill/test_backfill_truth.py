"""Checks that the model of the random histories finds the errors that it exists for."""

import pytest
from backfill_truth import Change, Event, Promise, PromiseError

CHANGES = [Change(1, 1, "c"), Change(2, 2, "c"), Change(1, 3, "u"), Change(1, 4, "d"), Change(1, 5, "c")]
LOGGED = [Event(1, 1, "r"), Event(2, 2, "r"), Event(1, 3, "u", 1), Event(1, None, "d", 3), Event(1, 5, "c")]
KEYED, KEYLESS = Promise("log", has_key=True), Promise("log", has_key=False)
INSERTED = [Change(row, row, "c") for row in (1, 2, 3)]
READ = [Event(row, row, "r") for row in (1, 2, 3)]


def test_what_is_promised_passes():
    KEYED.check(LOGGED, CHANGES)
    KEYED.check([Event(1, 5, "r"), Event(2, 2, "c")], CHANGES)
    KEYLESS.check(LOGGED, CHANGES)
    Promise("incrementing", has_key=False).check(READ, INSERTED)
    Promise("timestamp+incrementing", has_key=True).check([*READ, Event(2, 9, "r")], [*INSERTED, Change(2, 9, "u")])


@pytest.mark.parametrize(
    ("mode", "events", "changes", "told"),
    [
        ("incrementing", READ[1:], INSERTED, "1 of 3 rows are missing"),
        ("incrementing", [*READ, READ[0]], INSERTED, "more than once"),
        ("incrementing", [*READ, Event(4, 4, "r")], INSERTED, "no committed change"),
        ("timestamp+incrementing", READ, [*INSERTED, Change(2, 9, "u")], "not as they are"),
        ("timestamp+incrementing", [Event(2, 9, "r"), *READ], [*INSERTED, Change(2, 9, "u")], "goes back"),
        ("log", LOGGED[:-1], CHANGES, "each change once and in order"),
        ("log", [*LOGGED[:2], *LOGGED[3:]], CHANGES, "each change once and in order"),
        ("log", [LOGGED[1], *LOGGED[2:], LOGGED[0]], CHANGES, "each change once and in order"),
        ("log", [Event(1, 3, "u", 1), *LOGGED[1:2], *LOGGED[3:]], CHANGES, "each change once and in order"),
        ("log", [*LOGGED, LOGGED[4]], CHANGES, "more than once"),
    ],
)
def test_what_is_not_promised_is_told(mode, events, changes, told):
    with pytest.raises(PromiseError, match=told):
        Promise(mode, has_key=True).check(events, changes)


@pytest.mark.parametrize("events", [LOGGED[:-1], [*LOGGED, LOGGED[4]], LOGGED[1:]])
def test_of_a_table_without_a_key_the_sum_is_judged(events):
    with pytest.raises(PromiseError, match="otherwise than in sum"):
        KEYLESS.check(events, CHANGES)
