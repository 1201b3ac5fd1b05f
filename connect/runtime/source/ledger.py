"""Decides which source offsets are safe to store. No I/O, no clock, no threads.

The law: an offset is given out only when its batch, and every batch of the same source partition before it, is
delivered or was dropped on purpose. One stuck Kafka topic does not hold the offsets of other source partitions.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from connect.api.records import SourcePosition
from connect.kafka.produce.receipt import Receipt


@dataclass(frozen=True, slots=True, eq=False)
class _Ticket:
    position: SourcePosition
    receipt: Receipt


class OffsetLedger:
    """Keeps the batches in flight, of each source partition in the order of their polls. Owned by the task thread."""

    def __init__(self) -> None:
        self._in_flight: dict[str, deque[_Ticket]] = {}
        self._late: set[_Ticket] = set()

    def track(self, position: SourcePosition, receipt: Receipt) -> None:
        """Remember a batch that was sent. Its receipt is settled once its rows, if it has any, are in Kafka."""
        tickets = self._in_flight.setdefault(partition_key(position.partition), deque())
        # Only the newest safe position is kept: memory is bounded by the rows on their way, not by the interval.
        while len(tickets) > 1 and tickets[0].receipt.is_settled and tickets[1].receipt.is_settled:
            tickets.popleft()
        tickets.append(_Ticket(position, receipt))

    def take_committable(self) -> list[SourcePosition]:
        """Return the newest safe position of each source partition that has one which was not returned yet."""
        safe = []
        for key in list(self._in_flight):
            tickets = self._in_flight[key]
            newest: _Ticket | None = None
            while tickets and tickets[0].receipt.is_settled:
                newest = tickets.popleft()
            if newest is not None:
                safe.append(newest.position)
            if not tickets:
                del self._in_flight[key]
        return safe

    def take_late(self) -> list[SourcePosition]:
        """Return the first undelivered position of each source partition, if it was the first at the last call, too."""
        first = {ticket for tickets in self._in_flight.values() if not (ticket := tickets[0]).receipt.is_settled}
        late = [ticket.position for ticket in first & self._late]
        self._late = first
        return late

    @property
    def is_empty(self) -> bool:
        """Return True if each batch's position was returned, or was passed by a later one that was."""
        return not self._in_flight

    @property
    def is_settled(self) -> bool:
        """Return True if all tracked batches are delivered."""
        return all(ticket.receipt.is_settled for tickets in self._in_flight.values() for ticket in tickets)


def partition_key(partition: Mapping[str, object]) -> str:
    """Return a text that is the same for equal source partitions, whatever the order of their members."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"))
