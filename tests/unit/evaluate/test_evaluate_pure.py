"""The judgements of an evaluation that need nothing but values: pages, lags, rates, moments of kills, hidden values."""

from __future__ import annotations

from operator import or_

import pytest

from connect.evaluate.delivery_check import kill_moments
from connect.evaluate.options import Options
from connect.evaluate.page_check import missing_rows
from connect.evaluate.row_values import without_values
from connect.evaluate.timeline import Reading, growing_lag_s, has_caught_up, rate, shares


def readings(rows, lags=()):
    figures = [{"source_lag_seconds": lag} for lag in lags] or [{}] * len(rows)
    return [Reading(float(at), count, found) for at, (count, found) in enumerate(zip(rows, figures, strict=True))]


@pytest.mark.parametrize(
    ("left", "right", "missing"),
    [
        ("abcdef", "abcdef", 0),
        ("abcdef", "abcd", 0),
        ("abcdef", "abdef", 1),
        ("acdef", "abdef", 2),
        ("aabc", "abc", 1),
    ],
    ids=["equal", "one is shorter", "one skips a row", "each skips another", "one repeats a row"],
)
def test_rows_that_one_reading_lacks_are_counted_as_far_as_both_have_come(left, right, missing):
    def topic(text):
        return {"t": [letter.encode() for letter in text]}

    assert missing_rows(topic(left), topic(right)) == missing
    assert missing_rows(topic(right), topic(left)) == missing


def test_a_lag_that_grows_while_rows_come_is_told_and_no_other():
    rows = list(range(0, 120, 10))
    grows = [0, 5, 6, *range(1, 10)]
    assert growing_lag_s(readings(rows, grows)) == (2.0, 8.0)
    assert growing_lag_s(readings(rows, range(12))) is None, "its first read is not over"
    assert growing_lag_s(readings(rows, range(12, 0, -1))) is None, "it catches up"
    assert growing_lag_s(readings([5] * 12, grows)) is None, "it rests: nothing new is there"
    assert growing_lag_s(readings(rows, [0, 9, 1, 8, 2, 7, 3, 6, 4, 5, 1, 7])) is None, "it only swings"
    assert growing_lag_s(readings(rows)) is None, "the source does not tell"


def polling(rows, polled, poll_s, lags=()):
    figures = [{"polled_rows_total": n, "poll_seconds_total": s} for n, s in zip(polled, poll_s, strict=True)]
    told = [{"source_lag_seconds": lag} for lag in lags] or [{}] * len(figures)
    return [Reading(float(at), *found) for at, found in enumerate(zip(rows, map(or_, figures, told), strict=True))]


def test_a_source_has_caught_up_when_it_was_asked_and_had_nothing_more():
    rows, polled, asked = [0, 5, 9, 9, 9, 9], [0, 5, 9, 9, 9, 9], [0, 0.1, 0.2, 1.2, 2.2, 3.2]
    assert has_caught_up(polling(rows, polled, asked), 3.0)
    assert has_caught_up(polling(rows, polled, asked, [1, 2, 3, 4, 0.5, 1]), 3.0)
    assert not has_caught_up(polling(rows, polled, asked), 4.0), "it had less time than that"
    assert not has_caught_up(polling(rows, [0, 5, 9, 9, 9, 12], asked), 3.0), "rows are on their way"
    assert not has_caught_up(polling(rows, polled, [0, 0.1, 0.2, 0.2, 0.2, 0.2]), 3.0), "a poll has not come back"
    assert not has_caught_up(polling(rows, polled, asked, [1, 2, 3, 4, 5, 6]), 3.0), "it says that it has not"
    assert not has_caught_up(polling(rows, [0, 5, 9, 0, 0, 0], asked), 3.0), "it was started anew in between"
    assert not has_caught_up(polling([0] * 6, [0] * 6, asked), 3.0), "no row came at all"
    assert not has_caught_up([], 3.0)


def test_a_rate_leaves_out_the_warm_up_and_the_rest_behind_the_last_row():
    assert rate(readings([0, 0, 0, 0, 100, 200, 300, 400, 400, 400])) == pytest.approx(100.0)
    assert rate(readings([0, 5, 5, 5])) == pytest.approx(5.0)
    assert rate(readings([400])) == 0.0


def test_steps_are_told_the_longest_first():
    found = shares([Reading(0, 1, {"poll_seconds_total": 1.0, "send_seconds_total": 3.0, "put_seconds_total": 0.0})])
    assert list(found.items()) == [("send", 3.0), ("poll", 1.0)]


@pytest.mark.parametrize("seed", range(20))
def test_kills_are_spread_over_the_run_and_none_is_before_the_first_row_or_near_the_end(seed):
    moments = kill_moments(1000, Options(crashes=3, seed=seed))
    assert [moment // 300 for moment in moments] == [0, 1, 2]
    assert moments[0] >= 1
    assert kill_moments(1, Options(crashes=2, seed=seed)) == [1, 1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("value 'Jane Doe' is no number", "value … is no number"),
        ('got "4111 1111" for INT8', "got … for INT8"),
        ("1234567 is out of range, -7.5e3 too", "… is out of range, … too"),
        ("b'abc' at column 'orders'", "… at column 'orders'"),
        ("no such key 'batch.max.rows'", "no such key 'batch.max.rows'"),
    ],
)
def test_what_may_be_a_value_of_a_row_is_hidden(text, shown):
    assert without_values(text, ["batch.max.rows", "orders,customers"]) == shown
