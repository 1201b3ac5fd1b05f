"""Keeps a task's counters and gauges since its start. The task thread writes, the host's reporting thread reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from connect.kafka.raw import RawBatch, RawHeaders
from connect.runtime.task.latency import LatencyHistogram
from connect.runtime.task.recent_values import RecentRate, RecentValues

BEHIND_S: Final = 3.0
"""A source that was caught up more than so many seconds ago counts as behind."""
_RECENT_STAGES: Final = frozenset({"poll_s_total", "put_s_total", "flush_s_total"})
"""For these counters there are also figures of the recent average and the recent maximum of one call's seconds."""
_RATED: Final = ("polled_rows_total", "rows_total", "commits_total")
"""For these counters the growth per second is a figure, too."""
_WITH_LEAST: Final = frozenset({"transaction_rows"})
"""For these measures the least value is a figure, too."""
_FROM_ZERO: Final = (
    "polled_rows_total", "rows_total", "errors_total", "errors_logged_total", "dead_letters_total",
    "dead_letter_failures_total", "skipped_total", "retries_total", "commits_total", "flush_failures_total",
    "missed_rows_total", "offset_resets_total",
)  # fmt: skip
"""These counters are there with 0 from the start, so that the first count is seen as growth."""
STATES: Final = ("running", "paused")
"""For each of these states the share of a task's time in it is a figure."""
_NOTHING: Final = nullcontext()


class TaskFigures:
    """Holds counters and gauges by name, unit last. Reading a copy from another thread is safe under the GIL."""

    def __init__(
        self, on_stage: Callable[[str], None] | None = None, *, clock_s: Callable[[], float] = time.time
    ) -> None:
        """Begin with the counters at 0. `clock_s` gives epoch seconds.

        `on_stage` is called with the stage that begins, named as its counter of seconds. When the stage ends, it is
        called with the stage around it, or with an empty text.
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
        """Is the time that was told first: when the task was opened, or when its last run had caught up."""
        self._on_stage = on_stage
        self._probe: Callable[[], Mapping[str, float]] = dict
        self.stage: tuple[str, float] = ("", 0.0)
        """Holds the stage that is timed now, and its begin on the monotonic clock.

        The stage is named as its counter is without the unit. It is empty between two stages.
        """

    def probe(self, tell: Callable[[], Mapping[str, float]]) -> None:
        """Have snapshots take what `tell` returns in place of figures that the busy task cannot set.

        The thread that takes snapshots calls it.
        """
        self._probe = tell

    def add(self, name: str, amount: float = 1.0) -> None:
        """Raise a counter."""
        self._values[name] = self._values.get(name, 0.0) + amount

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._values[name] = value

    def unset(self, name: str) -> None:
        """Remove a gauge, as its value is not known."""
        self._values.pop(name, None)

    def set_since(self, name: str, at_s: float | None) -> None:
        """Set a gauge that is the age in seconds of `at_s` (epoch seconds) whenever it is read; it is 0 for None."""
        self._since_s[name] = at_s

    def measure(self, name: str, value: float) -> None:
        """Take one of many values. Their average is the figure NAME_avg, the largest is NAME_max.

        If NAME ends in `_ratio`, the average is the figure NAME itself.
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
        """Take note that rows have arrived `latency_s` seconds after the time that they carry."""
        if self._latency is None:
            self._latency = LatencyHistogram()
        self._latency.add(max(0.0, latency_s), rows)

    def is_now(self, state: str) -> None:
        """Take note that the task is in this state from now on. The share of its time in each state is STATE_ratio."""
        now_s = time.monotonic()
        before, since_s = self._state
        self._spent_s[before] = self._spent_s.get(before, 0.0) + now_s - since_s
        self._state = (state, now_s)

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Take note that all rows that the source held at this time (epoch seconds) are stored, and if it is `behind`.

        The age of this time is the figure `caught_up_age_s`, and `source_lag_s`, too, while the source is behind.
        """
        if self._began_s is None:
            self._began_s = at_s
        self._caught_up_s = at_s
        self._is_behind = behind

    def is_away(self) -> None:
        """Take note that the source is not asked, or cannot be: its lag is not known until it is told again.

        A number of waiting rows stays true as the least that wait, but a number of 0 does not.
        """
        self._is_behind = True
        for name in ("source_lag_rows", "source_lag_bytes"):
            if self._values.get(name) == 0:
                self.unset(name)

    def is_behind(self) -> bool:
        """Return True if a source that tells its lag has not caught up since its begin, or not in the last BEHIND_S."""
        if self._caught_up_s is None:
            return False
        return self._caught_up_s == self._began_s or self._age_s(self._caught_up_s) > BEHIND_S

    def _age_s(self, at_s: float) -> float:
        return max(0.0, self._clock_s() - at_s)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the seconds spent inside, also in inner stages, to the counter `name`, which ends in `_s_total`."""
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
        """Return the context of a step inside the timed stage; it does nothing without tracing (`TracedFigures`)."""
        return _NOTHING

    def batch(self, topic: str, rows: int, headers: Iterable[RawHeaders]) -> AbstractContextManager[None]:
        """Return the context of all steps of a batch. It does nothing without tracing."""
        del topic, rows, headers
        return _NOTHING

    def stamped(self, raw: RawBatch) -> RawBatch:
        """Return the rows to send to Kafka. With tracing they carry a trace."""
        return raw

    def snapshot(self) -> dict[str, float]:
        """Return the present values of all metrics. One thread asks for them from time to time."""
        values, now_s = dict(self._values), time.monotonic()
        values |= {name: 0.0 if at_s is None else self._age_s(at_s) for name, at_s in self._since_s.copy().items()}
        if self._caught_up_s is not None:
            # It is computed here, as the lag of a task that waits for Kafka grows, too.
            values["caught_up_age_s"] = self._age_s(self._caught_up_s)
            values["source_lag_s"] = values["caught_up_age_s"] if self._is_behind else 0.0
        for name, recent in self._recent.copy().items():
            values |= _of_late(name, recent, now_s)
        for name, rate in self._rates.items():
            values[f"{name.removesuffix('_total')}_per_s"] = rate.at(values[name], now_s)
        if self._latency is not None:
            values |= self._latency.figures("latency")
        return {**values, **self._state_ratios(now_s), **self._probe()}

    def mark_rates(self) -> None:
        """Note the present values of the rated counters, so that rates are recent even if snapshots are rare.

        Called by the thread that asks for snapshots.
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
