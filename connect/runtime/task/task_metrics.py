"""What a task counts, as plain numbers since its start. The task thread writes, the host's reporting thread reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from connect.kafka.raw import RawBatch, RawHeaders

BEHIND_S: Final = 3.0
"""A source that was caught up longer ago than this has more than it has given."""
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
        self._values: dict[str, float] = {}
        self._clock_s = clock_s
        self._caught_up_s: float | None = None
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

    def caught_up(self, at_s: float) -> None:
        """Take note that all that the source held at this time (epoch seconds) is stored; its age is `source_lag_s`
        from now on.
        """
        if self._began_s is None:
            self._began_s = at_s
        self._caught_up_s = at_s

    def is_behind(self) -> bool:
        """Tell if a source that tells its lag has not caught up since it began, or not within the last seconds."""
        if self._caught_up_s is None:
            return False
        return self._caught_up_s == self._began_s or self._lag_s(self._caught_up_s) > BEHIND_S

    def _lag_s(self, caught_up_s: float) -> float:
        return max(0.0, self._clock_s() - caught_up_s)

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
            self.add(name, time.monotonic() - start_s)
            self.stage = around
            if self._on_stage is not None:
                self._on_stage(around[0])

    def span(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002 - tracing only
        """Return the context of a step below the one that is timed; it does nothing without tracing (see
        `TracedFigures`).
        """
        return _NOTHING

    def batch(self, topic: str, rows: int, headers: Iterable[RawHeaders]) -> AbstractContextManager[None]:
        """Return the context of all that happens to a batch; it does nothing without tracing."""
        del topic, rows, headers
        return _NOTHING

    def stamped(self, raw: RawBatch) -> RawBatch:
        """Return the rows as they go to Kafka; with tracing they carry a trace."""
        return raw

    def snapshot(self) -> dict[str, float]:
        """Return the present values of all metrics."""
        values = dict(self._values)
        if self._caught_up_s is not None:
            # Here, as a task that waits for Kafka is not asked, and its lag grows all the same.
            values["source_lag_s"] = self._lag_s(self._caught_up_s)
        return values
