"""Delays grow, stay under the limit, and differ."""

from itertools import islice

from connect.runtime.settings.backoff import delays_s


def test_delays_double_up_to_the_limit_with_jitter_taken_off():
    delays = list(islice(delays_s(10.0, seed=1), 12))
    assert all(0.24 <= d <= 10.0 for d in delays)
    assert delays[3] > delays[0]
    assert min(delays[-3:]) >= 8.0
    assert len(set(delays[-3:])) == 3
