"""Up to which time the node's changes are in Kafka. Pure: the caller brings the times, as epoch seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from connectors.cassandra.log.segments.place import Place


class Delay:
    """Compares what was read of the log with what is stored of it. Owned by the task thread."""

    def __init__(self, opened_s: float) -> None:
        """Begin with nothing known: the age counts from `opened_s` on, and the agent is behind."""
        self.caught_up_s = opened_s
        """The time up to which all that the node had written is in Kafka."""
        self._given: deque[tuple[Mapping[str, object], int]] = deque()
        """Offsets of places that Kafka has not stored, and the rows before each of them."""
        self._stored_at: tuple[int, int] | None = None
        self._drained_s: float | None = None
        """The last time at which all that the node had written was given; None if the node has written more since."""

    @property
    def is_behind(self) -> bool:
        """Return True where the node has changes that were not read, or Kafka has not stored all that were."""
        return bool(self._given) or self._drained_s is None

    @property
    def unstored_rows(self) -> int:
        """Return how many rows were given that Kafka has not stored."""
        return sum(rows for _, rows in self._given)

    def given(self, place: Place, rows: int = 0) -> None:
        """Note that `rows` more were given to the framework, up to this place, and there may be more behind it."""
        # A place is told again without new changes behind it once its segments are let go.
        if (place.segment, place.position) != self._stored_at:
            self._given.append((place.offset, rows))
            self._drained_s = None

    def unread(self) -> None:
        """Note that the node may have written what was not read."""
        self._drained_s = None

    def drained(self, at_s: float) -> None:
        """Note that at this time the node had nothing that was not given."""
        self._drained_s = at_s
        self._know()

    def stored(self, place: Place) -> None:
        """Note that Kafka has all changes up to this place."""
        offset = place.offset
        if all(given != offset for given, _ in self._given):
            return
        while self._given.popleft()[0] != offset:
            continue
        if not self._given:
            self._stored_at = (place.segment, place.position)
            self._know()

    def _know(self) -> None:
        if not self._given and self._drained_s is not None:
            self.caught_up_s = self._drained_s
