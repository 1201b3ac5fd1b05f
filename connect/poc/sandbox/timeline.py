"""Reads a run's metrics from the worker over time, and computes rates, lags and shares from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import pairwise, takewhile
from typing import Final

from connect.client.rest import ConnectClient, RefusedError
from connect.client.task_lines import figures_of

STEPS: Final[Mapping[str, str]] = {
    "poll": "reading the source or Kafka", "convert": "transforms and converters",
    "send": "handing rows to the producer", "put": "the sink's put", "flush": "making rows and offsets durable",
}  # fmt: skip
"""The worker counts the seconds of these steps; the texts say what is done in each."""
WARM_UP: Final = 0.2
"""The first rows of a run, this share of them, do not count: connections are made and code is loaded meanwhile."""
_GROWTH: Final = 1.2
_LARGEST: Final = frozenset({"lag_rows", "lag_seconds", "source_lag_seconds", "caught_up_age_seconds"})
"""For these metrics a connector has the largest of its tasks' values, for all others the sum."""
_LEAST_READINGS: Final = 6
_BLIND_S: Final = 2.0
"""If two readings are more seconds apart, nothing is known of the time between them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Describes the state of a run at one look.

    `at_s` is the time since the run began, `rows` the number of rows in Kafka. `figures` has the metrics of all tasks:
    the sums, or for those in `_LARGEST` the largest value.
    """

    at_s: float
    rows: int
    figures: Mapping[str, float] = field(default_factory=dict)


def scrape(rest: ConnectClient, connector: str) -> dict[str, float]:
    """Return the metrics of a connector's tasks, by their names without prefix.

    It is empty for a Java worker, which has no such metrics. ConnectError: the worker does not answer.
    """
    found: dict[str, float] = {}
    try:
        text = rest.metrics()
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return found
    for (name, _), figures in figures_of(text).items():
        for figure, value in figures.items() if name == connector else ():
            before = found.get(figure, 0.0)
            found[figure] = max(before, value) if figure in _LARGEST else before + value
    return found


def has_caught_up(readings: Sequence[Reading], quiet_s: float) -> bool:
    """Tell if the source was polled for `quiet_s` seconds and gave no more rows.

    A source that tells its lag must also have stored all that it had when the last row came. Seconds in which Kafka did
    not answer, so that nobody could look, do not count.
    """
    if not readings or not readings[-1].rows:
        return False
    last = readings[-1]
    # It goes from the end, as a task that was started anew counts from zero.
    seen = takewhile(lambda pair: pair[0].at_s - pair[1].at_s < _BLIND_S, pairwise(reversed(readings)))
    resting = takewhile(lambda reading: _moved(reading) == _moved(last), (earlier for _, earlier in seen))
    quiet = [last, *resting]
    rested_s = last.at_s - quiet[-1].at_s
    before = quiet[len(quiet) // 2].figures
    # A Java worker has no figures of polls; ours has none while a killed task is started anew.
    is_told = any(reading.figures for reading in readings)
    polled = not is_told or last.figures.get("poll_seconds_total", 0.0) > before.get("poll_seconds_total", math.inf)
    return rested_s >= quiet_s and polled and last.figures.get("caught_up_age_seconds", 0.0) < rested_s


def _moved(reading: Reading) -> tuple[float, float]:
    return reading.rows, reading.figures.get("polled_rows_total", 0.0)


def rate(readings: Sequence[Reading]) -> float:
    """Return rows per second from the end of the warm-up to the last row; 0.0: there are too few rows to tell."""
    moving = [reading for reading, later in pairwise(readings) if later.rows > reading.rows]
    if not moving:
        return 0.0
    last = next(r for r in readings if r.rows == readings[-1].rows)
    warm = next((r for r in readings if r.rows >= WARM_UP * last.rows and r.rows), last)
    begin = warm if last.at_s - warm.at_s >= 0.5 else moving[0]
    seconds = last.at_s - begin.at_s
    return (last.rows - begin.rows) / seconds if seconds > 0 else 0.0


def rate_range(readings: Sequence[Reading]) -> tuple[float, float]:
    """Return the rows per second of the slowest and the fastest third; the whole rate twice if there are few
    readings.
    """
    moving = [before for before, later in pairwise(readings) if later.rows > before.rows]
    whole = rate(readings)
    third = len(moving) // 3
    if third < 2:
        return whole, whole
    parts = [moving[:third], moving[third : 2 * third], moving[2 * third :]]
    rates = [(part[-1].rows - part[0].rows) / (part[-1].at_s - part[0].at_s) for part in parts]
    return min(*rates, whole) or whole, max(*rates, whole)


def percentiles(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the 50th, 95th and 99th percentile, each one of the values; None if there are no values."""
    if not values:
        return None
    ordered = sorted(values)
    p50, p95, p99 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.50, 0.95, 0.99))
    return p50, p95, p99


def lags_s(readings: Sequence[Reading]) -> list[float]:
    """Return the lags in seconds: of a source since it first caught up, of a sink since its first row.

    It is empty if the connector tells no lag.
    """
    of_sink = [r.figures["lag_seconds"] for r in readings if "lag_seconds" in r.figures and r.rows]
    of_source = [r.figures["caught_up_age_seconds"] for r in readings if "caught_up_age_seconds" in r.figures]
    caught_up = next((at for at, (lag, later) in enumerate(pairwise(of_source), 1) if later < lag), len(of_source))
    return of_sink or of_source[caught_up:]


def shares(readings: Sequence[Reading]) -> dict[str, float]:
    """Return the seconds that the tasks spent in each step, the largest first.

    It is empty if the worker has no such metrics.
    """
    last = next((reading.figures for reading in reversed(readings) if reading.figures), {})
    found = {step: last.get(f"{step}_seconds_total", 0.0) for step in STEPS}
    return dict(sorted(((s, v) for s, v in found.items() if v > 0), key=lambda pair: -pair[1]))


def growing_lag_s(readings: Sequence[Reading]) -> tuple[float, float] | None:
    """Return a source's mean lags in the first and in the last third of the time since it first caught up, if the lag
    grew.

    Return None if the lag did not grow, or if the source tells none. A source that still reads old rows, or has no new
    ones, does not fall behind.
    """
    lags = [
        r.figures["caught_up_age_seconds"]
        for before, r in pairwise(readings)
        if "caught_up_age_seconds" in r.figures and r.rows > before.rows
    ]
    caught_up = next((at for at, (lag, later) in enumerate(pairwise(lags), 1) if later < lag), len(lags))
    lags = lags[caught_up:]
    if len(lags) < _LEAST_READINGS:
        return None
    third = len(lags) // 3
    first, last = lags[:third], lags[-third:]
    grew = min(last) > max(first) and sum(last) > _GROWTH * sum(first)
    return (sum(first) / third, sum(last) / third) if grew else None
