"""A chunk of a table that is read again leaves out the rows of which the log sends events, and no others."""

from __future__ import annotations

import pytest

from connectors.jdbc.log.postgres.segments import sent_keys

OPERATIONS = ["c", "u", "u", "u", "d"]
BEFORE = {1: ("moved",), 2: ("same",), 4: ("gone",)}
AFTER = {0: ("new",), 1: ("moved to",), 2: ("same",), 3: ("changed",)}
ALL = {"new", "moved", "moved to", "same", "changed", "gone"}


@pytest.mark.parametrize(
    ("skipped", "missing"),
    [
        ("t", set()),
        ("u", {"same", "changed"}),
        ("c", {"new", "moved to"}),
        ("d", {"moved", "gone"}),
    ],
)
def test_a_moved_row_has_the_events_of_its_delete_and_its_create(skipped: str, missing: set[str]) -> None:
    found = sent_keys(OPERATIONS, BEFORE, AFTER, {skipped})
    assert {text for (text,) in found} == ALL - missing
