"""Delays grow, stay under the limit, and differ."""

from itertools import islice

from connect.lib.backoff import delay_s, delays_s


def test_delays_double_up_to_the_limit_with_jitter_taken_off():
    delays = list(islice(delays_s(10.0, seed=1), 12))
    assert all(0.24 <= d <= 10.0 for d in delays)
    assert delays[3] > delays[0]
    assert min(delays[-3:]) >= 8.0
    assert len(set(delays[-3:])) == 3


def test_a_delay_that_doubled_for_ever_still_ends_at_the_limit():
    assert [delay_s(failures, initial_s=0.5, max_s=3.0) for failures in range(4)] == [0.5, 1.0, 2.0, 3.0]
    assert delay_s(10_000, initial_s=0.5, max_s=3.0) == 3.0
