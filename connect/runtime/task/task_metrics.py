"""What a task counts, as plain numbers since its start. The task thread writes, the host's reporting thread reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from connect.kafka.raw import RawBatch, RawHeaders
from connect.runtime.task.latency import LatencyHistogram
from connect.runtime.task.recent_values import RecentRate, RecentValues

BEHIND_S: Final = 3.0
"""A source that was caught up longer ago than this has more than it has given."""
_RECENT_STAGES: Final = frozenset({"poll_s_total", "put_s_total", "flush_s_total"})
"""The seconds of one call are figures, too, for these: their average and the largest of late."""
_RATED: Final = ("polled_rows_total", "rows_total", "commits_total")
"""The growth in a second is a figure, too, for these."""
_WITH_LEAST: Final = frozenset({"transaction_rows"})
"""The least value is a figure, too, for these."""
_FROM_ZERO: Final = (
    "polled_rows_total", "rows_total", "errors_total", "errors_logged_total", "dead_letters_total",
    "dead_letter_failures_total", "skipped_total", "retries_total", "commits_total", "flush_failures_total",
    "missed_rows_total", "offset_resets_total",
)  # fmt: skip
"""These counters are there before they count, so that the first one is seen as growth."""
STATES: Final = ("running", "paused")
"""States of a task whose share of its time is a figure."""
_NOTHING: Final = nullcontext()


class TaskFigures:
    """Holds counters and gauges by name, unit last. Reading a copy from another thread is safe under the GIL."""

    def __init__(
        self, on_stage: Callable[[str], None] | None = None, *, clock_s: Callable[[], float] = time.time
    ) -> None:
        """`clock_s` gives epoch seconds.

        `on_stage` hears the stage that begins, named as its counter of seconds, and the one around it when it ends.
        Around the outermost one there is an empty text.
        """
        self._values: dict[str, float] = dict.fromkeys(_FROM_ZERO, 0.0)
        self._since_s: dict[str, float | None] = {}
        self._recent: dict[str, RecentValues] = {}
        self._latency: LatencyHistogram | None = None
        self._made_s = time.monotonic()
        self._rates = {name: RecentRate(self._made_s) for name in _RATED}
        self._state: tuple[str, float] = ("", self._made_s)
        self._spent_s: dict[str, float] = {}
        self._clock_s = clock_s
        self._caught_up_s: float | None = None
        self._is_behind = False
        self._began_s: float | None = None
        """What was told of first: when the task was opened, or when its last run had caught up."""
        self._on_stage = on_stage
        self.stage: tuple[str, float] = ("", 0.0)
        """Tells what is timed now, as its counter is named without the unit, and since when on the monotonic clock; an
        empty text between two stages.
        """

    def add(self, name: str, amount: float = 1.0) -> None:
        """Raise a counter."""
        self._values[name] = self._values.get(name, 0.0) + amount

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._values[name] = value

    def unset(self, name: str) -> None:
        """Take a gauge away, as its value is not known."""
        self._values.pop(name, None)

    def set_since(self, name: str, at_s: float | None) -> None:
        """Set a gauge of seconds that is the age of this time (epoch seconds) whenever it is read; None: it is 0."""
        self._since_s[name] = at_s

    def measure(self, name: str, value: float) -> None:
        """Take one of many values: their average is the figure NAME_avg, their largest NAME_max.

        Of a NAME that ends in `_ratio` the average is the figure NAME.
        """
        self._recent.setdefault(name, RecentValues()).add(value, time.monotonic())

    def level(self, name: str, value: float) -> None:
        """Set a gauge, and measure it."""
        self.set(name, value)
        self.measure(name, value)

    def flushed(self, *, well: bool) -> None:
        """Take note that a flush has made offsets durable, or has not."""
        if not well:
            self.add("flush_failures_total")
        self.measure("flush_success_ratio", float(well))
        self.measure("flush_failure_ratio", float(not well))

    def arrived(self, latency_s: float, rows: int) -> None:
        """Take note that rows have come to their end so long after the time that they carry."""
        if self._latency is None:
            self._latency = LatencyHistogram()
        self._latency.add(max(0.0, latency_s), rows)

    def is_now(self, state: str) -> None:
        """Take note that the task is in this state from now on; the share of its time in each is STATE_ratio."""
        now_s = time.monotonic()
        before, since_s = self._state
        self._spent_s[before] = self._spent_s.get(before, 0.0) + now_s - since_s
        self._state = (state, now_s)

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Take note that all that the source held at this time (epoch seconds) is stored, and if it is `behind`.

        The age of the time is `caught_up_age_s` from now on, and `source_lag_s`, too, while the source is behind.
        """
        if self._began_s is None:
            self._began_s = at_s
        self._caught_up_s = at_s
        self._is_behind = behind

    def is_away(self) -> None:
        """Take note that the source is not asked, or cannot be: nobody knows what it has more, until it says so again.

        That so many rows wait at least is true all the same, but not that there are none.
        """
        self._is_behind = True
        for name in ("source_lag_rows", "source_lag_bytes"):
            if self._values.get(name) == 0:
                self.unset(name)

    def is_behind(self) -> bool:
        """Tell if a source that tells its lag has not caught up since it began, or not within the last seconds."""
        if self._caught_up_s is None:
            return False
        return self._caught_up_s == self._began_s or self._age_s(self._caught_up_s) > BEHIND_S

    def _age_s(self, at_s: float) -> float:
        return max(0.0, self._clock_s() - at_s)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the seconds spent inside to the counter `name`, which ends in `_s_total`, those of inner stages too."""
        around, start_s = self.stage, time.monotonic()
        self.stage = (name.removesuffix("_s_total"), start_s)
        if self._on_stage is not None:
            self._on_stage(self.stage[0])
        try:
            yield
        finally:
            lasted_s = time.monotonic() - start_s
            self.add(name, lasted_s)
            if name in _RECENT_STAGES:
                self.measure(name.removesuffix("_total"), lasted_s)
            self.stage = around
            if self._on_stage is not None:
                self._on_stage(around[0])

    def span(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002 - tracing only
        """Return the context of a step inside the timed one. It does nothing without tracing (see `TracedFigures`)."""
        return _NOTHING

    def batch(self, topic: str, rows: int, headers: Iterable[RawHeaders]) -> AbstractContextManager[None]:
        """Return the context of all that happens to a batch; it does nothing without tracing."""
        del topic, rows, headers
        return _NOTHING

    def stamped(self, raw: RawBatch) -> RawBatch:
        """Return the rows as they go to Kafka; with tracing they carry a trace."""
        return raw

    def snapshot(self) -> dict[str, float]:
        """Return the present values of all metrics. For one thread that asks from time to time."""
        values, now_s = dict(self._values), time.monotonic()
        values |= {name: 0.0 if at_s is None else self._age_s(at_s) for name, at_s in self._since_s.copy().items()}
        if self._caught_up_s is not None:
            # Here, as a task that waits for Kafka is not asked, and its lag grows all the same.
            values["caught_up_age_s"] = self._age_s(self._caught_up_s)
            values["source_lag_s"] = values["caught_up_age_s"] if self._is_behind else 0.0
        for name, recent in self._recent.copy().items():
            values |= _of_late(name, recent, now_s)
        for name, rate in self._rates.items():
            values[f"{name.removesuffix('_total')}_per_s"] = rate.at(values[name], now_s)
        if self._latency is not None:
            values |= self._latency.figures("latency")
        return values | self._state_ratios(now_s)

    def mark_rates(self) -> None:
        """Take note of what the rated counters are now, so that rates are those of late also for who seldom asks.

        For the thread that asks for snapshots.
        """
        now_s = time.monotonic()
        for name, rate in self._rates.items():
            rate.at(self._values[name], now_s)

    def _state_ratios(self, now_s: float) -> dict[str, float]:
        state, since_s = self._state
        spent_s = {**self._spent_s, state: self._spent_s.get(state, 0.0) + now_s - since_s}
        lifetime_s = max(now_s - self._made_s, since_s - self._made_s)
        return {f"{name}_ratio": spent_s.get(name, 0.0) / lifetime_s if lifetime_s else 0.0 for name in STATES}


def _of_late(name: str, recent: RecentValues, now_s: float) -> dict[str, float]:
    found = recent.at(now_s)
    if found is None:
        return {}
    if name.endswith("_ratio"):
        return {name: found.average}
    least = {f"{name}_min": found.least} if name in _WITH_LEAST else {}
    return {f"{name}_avg": found.average, f"{name}_max": found.largest, **least}
