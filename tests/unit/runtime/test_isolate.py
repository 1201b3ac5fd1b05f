"""Bad rows leave their batch alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.api.errors import RejectedRowsError, RetriableError
from connect.runtime.records.bad_row_search import isolate


class Numbers(list):
    def slice(self, start, stop):
        return Numbers(self[start:stop])

    def take(self, indices):
        return Numbers(self[i] for i in indices)


def run(numbers, step):
    rejected = []
    done = isolate(Numbers(numbers), step, lambda batch, rows: rejected.extend(batch[i] for i in rows))
    return [n for part in done for n in part], rejected


@given(st.lists(st.integers()), st.booleans())
def test_exactly_the_bad_rows_are_rejected_and_the_order_is_kept(numbers, step_names_rows):
    def step(batch):
        bad = {i: ValueError(str(n)) for i, n in enumerate(batch) if n % 3 == 0}
        if bad and step_names_rows:
            raise RejectedRowsError(bad)
        if bad:
            raise ValueError("some row is bad")
        return batch

    done, rejected = run(numbers, step)
    assert done == [n for n in numbers if n % 3]
    assert sorted(rejected) == sorted(n for n in numbers if n % 3 == 0)


def test_a_retriable_error_is_not_about_rows():
    def step(batch):
        raise RetriableError("away")

    with pytest.raises(RetriableError):
        run([1, 2], step)


def test_what_reject_raises_ends_the_work():
    def reject(batch, rows):
        raise KeyError("tolerance exceeded")

    def step(batch):
        raise ValueError("bad")

    with pytest.raises(KeyError):
        isolate(Numbers([1, 2, 3]), step, reject)


def test_isolating_one_row_in_many_takes_few_calls():
    calls = 0

    def step(batch):
        nonlocal calls
        calls += 1
        if 77_777 in batch:
            raise ValueError("bad")
        return batch

    done, rejected = run(range(100_000), step)
    assert rejected == [77_777]
    assert len(done) == 99_999
    assert calls < 50
