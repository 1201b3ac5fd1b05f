"""Checks bad rows that a database finds at the end of a transaction, against a model of rows that lean on each
other.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.jdbc.sink.deferred_constraints import late_refusals

ROWS = 24
MISSING = -1


def refused(leans: dict[int, int]) -> set[int]:
    """`leans`: what a row leans on, another row or MISSING."""

    def tried(rows: Sequence[int]) -> Exception | None:
        assert list(rows) == sorted(set(rows)), "rows are written in their order"
        broken = [row for row in rows if leans.get(row, row) not in rows]
        return ValueError(str(broken)) if broken else None

    return set(late_refusals(ROWS, tried))


def bad(leans: dict[int, int]) -> set[int]:
    """The rows that lean on MISSING, on their own or by way of others."""
    found: set[int] = set()
    while more := {row for row, on in leans.items() if on == MISSING or on in found} - found:
        found |= more
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_exactly_the_rows_that_lean_on_nothing_are_refused(data):
    order = data.draw(st.permutations(range(ROWS)))
    # A row leans on one before it in `order`, so that none lean on each other in a circle.
    ranks = data.draw(st.dictionaries(st.integers(1, ROWS - 1), st.integers(-1, ROWS - 1), max_size=8))
    leans = {order[at]: MISSING if on < 0 else order[on % at] for at, on in ranks.items()}
    assert refused(leans) == bad(leans)


def test_rows_that_lean_on_each_other_are_good_beside_a_bad_one():
    assert refused({3: 20, 20: 3, 7: MISSING}) == {7}
    assert refused({3: 20, 20: 3}) == set()
