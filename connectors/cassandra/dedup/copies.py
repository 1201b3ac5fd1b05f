"""Events that wait for their copies from further nodes. Pure: the time is passed in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from connect.api.records import Batch


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event where it was read: a row of a batch."""

    id: bytes
    batch: Batch
    row: int
    offset: int


@dataclass(slots=True)
class _Held:
    event: EventRow
    since_s: float
    nodes: set[str] = field(default_factory=set)


class Copies:
    """The events of one partition that fewer nodes have sent than it takes. Owned by the task thread."""

    def __init__(self, required: int, wait_s: float, most: int) -> None:
        """`most`: so many are held; beyond it the oldest are let go as if their time was over."""
        self._required = required
        self._wait_s = wait_s
        self._most = most
        self._held: dict[bytes, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def offer(self, node: str, event: EventRow, now_s: float) -> EventRow | None:
        """A copy; the event, once enough nodes have sent one."""
        if self._required <= 1:
            return event
        held = self._held.setdefault(event.id, _Held(event, now_s))
        held.nodes.add(node)
        if len(held.nodes) < self._required:
            return None
        del self._held[event.id]
        return held.event

    def overdue(self, now_s: float) -> list[EventRow]:
        """Let those go that have waited too long, the oldest first."""
        beyond = max(0, len(self._held) - self._most)
        late = sum(1 for _ in self._late(now_s))
        ids = list(islice(self._held, max(beyond, late)))
        return [self._held.pop(event_id).event for event_id in ids]

    def oldest_offset(self) -> int | None:
        """From where the events that are held have to be read again after a restart."""
        # The first copy's offset, in the order of reading.
        return next((held.event.offset for held in self._held.values()), None)

    def _late(self, now_s: float) -> Iterator[bytes]:
        for event_id, held in self._held.items():
            if now_s - held.since_s < self._wait_s:
                return
            yield event_id
