"""Counts rows by librdkafka's delivery reports, as `connect.native.RowSender` does with native code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count


@dataclass(slots=True)
class _Open:
    rows: int
    on_acknowledged: Callable[[], None]


class ReportedRows:
    """Holds the rows that wait for their delivery reports. Owned by the producer's thread."""

    def __init__(self) -> None:
        self._numbers = count(1)  # 0 is what rows without a number have
        self._open: dict[int, _Open] = {}

    def queue(self, rows: int, queue: Callable[[int], int], on_acknowledged: Callable[[], None]) -> int:
        """Call `queue` with a new number, under which it queues up to `rows` rows. Return how many it queued.

        `on_acknowledged` is called once all these rows are in Kafka.
        """
        number = next(self._numbers)
        self._open[number] = _Open(rows, on_acknowledged)
        taken = queue(number)
        self._close(number, rows - taken)
        return taken

    def acknowledged(self, number: int) -> None:
        """Take note that a row with this number is in Kafka."""
        self._close(number, 1)

    def _close(self, number: int, rows: int) -> None:
        part = self._open[number]
        part.rows -= rows
        if not part.rows:
            del self._open[number]
            part.on_acknowledged()
