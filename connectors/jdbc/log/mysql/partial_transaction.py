"""Tells which rows of a transaction Debezium had delivered, where it stored its place within the transaction. Pure."""

from __future__ import annotations

from connectors.jdbc.log.binlog.position import WHOLE, Skipped


class HalfRead:
    """Counts the events of the first transaction behind a place, as Debezium does. Owned by the reading thread."""

    def __init__(self, skipped: Skipped = WHOLE) -> None:
        self._skipped = skipped
        self._events: int | None = None

    def begin(self) -> None:
        """Take note that a transaction begins. Where several events begin it, this is called for each, and the last one
        counts.
        """
        self._events = 0

    def count(self) -> None:
        """Take note that an event is over."""
        if self._events is not None:
            self._events += 1

    @property
    def has_whole_event(self) -> bool:
        """Tell if all rows of the present event were delivered before."""
        return self._events is not None and self._events < self._skipped.events

    @property
    def rows_of_event(self) -> int:
        """Return how many rows of the present event were delivered before."""
        return self._skipped.rows if self._events is not None and self._events == self._skipped.events else 0
