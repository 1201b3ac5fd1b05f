"""Holds each event until enough nodes have sent a copy of it. Pure: the time is passed in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from connect.api.records import Batch


@dataclass(frozen=True, slots=True)
class EventRow:
    """Holds the id of an event, its row in the batch that it was read from, and its offset in the topic."""

    id: bytes
    batch: Batch
    row: int
    offset: int


@dataclass(slots=True)
class _Held:
    event: EventRow
    since_s: float
    nodes: set[str] = field(default_factory=set)


class PendingCopies:
    """Holds the events of one partition that wait for copies from further nodes. Owned by the task thread."""

    def __init__(self, required: int, wait_s: float, most: int, records_most: int) -> None:
        """Wait for copies from `required` nodes, for `wait_s` seconds.

        At most `most` events are held; if there are more, the oldest are let go as if they had waited long enough. So
        is an event behind which `records_most` records were read: a restart reads from the oldest one that is held, and
        has to know again what was sent behind it.
        """
        self._required = required
        self._wait_s = wait_s
        self._most = most
        self._records_most = records_most
        self._held: dict[bytes, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def offer(self, node: str, event: EventRow, now_s: float) -> EventRow | None:
        """Take a copy that a node sent; return the event if enough nodes have sent one now, else None."""
        if self._required <= 1:
            return event
        held = self._held.setdefault(event.id, _Held(event, now_s))
        held.nodes.add(node)
        if len(held.nodes) < self._required:
            return None
        del self._held[event.id]
        return held.event

    def overdue(self, now_s: float, next_offset: int) -> list[EventRow]:
        """Return and forget the events that have waited too long, the oldest first.

        `next_offset` is the offset behind the last record that was read.
        """
        beyond = max(0, len(self._held) - self._most)
        late = sum(1 for _ in self._late(now_s, next_offset))
        ids = list(islice(self._held, max(beyond, late)))
        return [self._held.pop(event_id).event for event_id in ids]

    def oldest_offset(self) -> int | None:
        """Return the offset from which a restart has to read to see all held events again; None if no event is held."""
        # Events are held in the order of reading, so the first one has the lowest offset.
        return next((held.event.offset for held in self._held.values()), None)

    def _late(self, now_s: float, next_offset: int) -> Iterator[bytes]:
        for event_id, held in self._held.items():
            if now_s - held.since_s < self._wait_s and next_offset - held.event.offset <= self._records_most:
                return
            yield event_id
