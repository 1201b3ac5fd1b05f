"""Behind a predicate a transform names the same bad rows, and changes the same good ones, as it would row by row."""

import random
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from drawn_cases import quick_first

from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column
from connect.api.schema import INT64
from connect.runtime.records.chain import Link, apply_chain


class AddThousand:
    """Adds 1000, and refuses multiples of seven: it names them all at once, or fails without naming any."""

    def __init__(self, *, names_rows: bool) -> None:
        self.names_rows = names_rows
        self.calls = 0

    def apply(self, batch):
        self.calls += 1
        bad = {i: ValueError(f"bad {v}") for i, v in enumerate(batch.values.rows()) if v % 7 == 0}
        if bad:
            raise RejectedRowsError(bad) if self.names_rows else ValueError("bad")
        return [replace(batch, values=Column.from_arrow(pc.add(batch.values.arrow(), 1000), INT64))]


class Chosen:
    def __init__(self, chosen: set[int]) -> None:
        self.chosen = pa.array(sorted(chosen), pa.int64())

    def test(self, batch):
        return pc.is_in(batch.values.arrow(), self.chosen)


def batch(values: list[int]) -> Batch:
    return Batch("t", Column.from_arrow(pa.array(values, pa.int64()), INT64))


def applied(link: Link, values: list[int]) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the rows that come out, and the refused ones with their errors."""
    refused: list[tuple[int, str]] = []

    def reject(_name, part, rows):
        refused.extend((part.values.rows()[i], str(error)) for i, error in rows.items())

    made = apply_chain([link], batch(values), reject)
    return [v for part in made for v in part.values.rows()], sorted(refused)


@pytest.mark.parametrize("names_rows", [True, False])
@pytest.mark.parametrize("seed", quick_first(20, of=200))
def test_bad_rows_behind_a_predicate_are_the_ones_that_are_bad_alone(seed, names_rows):
    draw = random.Random(seed)
    values = draw.sample(range(900), draw.choice([2, 5, 40, 100]))
    chosen = {v for v in values if draw.random() < draw.choice([0.1, 0.5, 0.95])}
    link = Link("add", AddThousand(names_rows=names_rows), Chosen(chosen), negate=draw.random() < 0.5)
    alone = [applied(link, [v]) for v in values]
    expected = [v for made, _ in alone for v in made], sorted(r for _, refused in alone for r in refused)
    assert applied(link, values) == expected


@pytest.mark.parametrize("unselected", [1, 30_000])
def test_a_bad_row_behind_rows_that_are_not_selected_costs_none_of_them(unselected):
    """The usual set-up: a tombstone that no transform sees stands before a row that the transform refuses."""
    values = [*range(1000, 1000 + unselected), 7, 8]
    link = Link("add", AddThousand(names_rows=True), Chosen({7, 8}))
    assert applied(link, values) == ([*range(1000, 1000 + unselected), 1008], [(7, "bad 7")])


@pytest.mark.parametrize("runs", [6, 60])
def test_bad_rows_of_all_runs_are_named_together(runs):
    """Each run has a bad row: were these named one by one, each would cost a further round of all rows."""
    values = [v for n in range(runs) for v in (7 * n, 1000 + n)]
    transform = AddThousand(names_rows=True)
    made, refused = applied(Link("add", transform, Chosen({7 * n for n in range(runs)})), values)
    assert (made, len(refused)) == ([1000 + n for n in range(runs)], runs)
    assert transform.calls == runs
