"""Up to which time the node's changes are in Kafka. Pure: the caller brings the times, as epoch seconds."""

from __future__ import annotations

from connectors.cassandra.log.segments.place import Place


class Delay:
    """Compares what was read of the log with what is stored of it. Owned by the task thread."""

    def __init__(self, opened_s: float) -> None:
        """Begin with nothing known: the age counts from `opened_s` on, and the agent is behind."""
        self.caught_up_s = opened_s
        """The time up to which all that the node had written is in Kafka."""
        self._given: Place | None = None
        self._stored_at: tuple[int, int] | None = None
        self._drained_s: float | None = None
        """When all that the node had written was given last; None: it has written more since then."""

    @property
    def is_behind(self) -> bool:
        """Return True where the node has changes that were not read, or Kafka has not stored all that were."""
        return self._given is not None or self._drained_s is None

    def given(self, place: Place) -> None:
        """Note that changes up to this place were given to the framework, and there may be more behind it."""
        # A place is told again without new changes behind it once its segments are let go.
        if (place.segment, place.position) != self._stored_at:
            self._given, self._drained_s = place, None

    def unread(self) -> None:
        """Note that the node may have written what was not read."""
        self._drained_s = None

    def drained(self, at_s: float) -> None:
        """Note that at this time the node had nothing that was not given."""
        self._drained_s = at_s
        self._know()

    def stored(self, place: Place) -> None:
        """Note that Kafka has all changes up to this place."""
        if self._given is not None and self._given.offset == place.offset:
            self._given, self._stored_at = None, (place.segment, place.position)
            self._know()

    def _know(self) -> None:
        if self._given is None and self._drained_s is not None:
            self.caught_up_s = self._drained_s
