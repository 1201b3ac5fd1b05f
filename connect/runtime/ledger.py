"""Which source offsets are safe to store. No I/O, no clock, no threads.

The law: an offset is given out only when its batch, and every batch of the same source partition before it, is
delivered or was dropped on purpose. One stuck Kafka topic does not hold the offsets of other source partitions.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from connect.api.records import SourcePosition


@dataclass(slots=True, eq=False)
class Ticket:
    """One tracked batch. Owned by the ledger; callers only hand it back."""

    position: SourcePosition
    delivered: bool = False


class OffsetLedger:
    """Batches in flight, per source partition in the order they were polled. Owned by the task thread."""

    def __init__(self) -> None:
        self._in_flight: dict[str, deque[Ticket]] = {}

    def track(self, position: SourcePosition) -> Ticket:
        """Remember a batch before it is sent."""
        ticket = Ticket(position)
        self._in_flight.setdefault(partition_key(position.partition), deque()).append(ticket)
        return ticket

    def delivered(self, ticket: Ticket) -> None:
        """Every row of the batch is acknowledged by Kafka, filtered on purpose, or dead-lettered."""
        ticket.delivered = True

    def all_delivered(self) -> None:
        """Everything tracked so far is delivered: the producer has nothing in flight."""
        for tickets in self._in_flight.values():
            for ticket in tickets:
                ticket.delivered = True

    def take_committable(self) -> list[SourcePosition]:
        """The newest safe position of each source partition that moved since the last call; they are given out once."""
        safe = []
        for key in list(self._in_flight):
            tickets = self._in_flight[key]
            newest: Ticket | None = None
            while tickets and tickets[0].delivered:
                newest = tickets.popleft()
            if newest is not None:
                safe.append(newest.position)
            if not tickets:
                del self._in_flight[key]
        return safe

    @property
    def in_flight(self) -> int:
        """Batches tracked and not yet given out as committable."""
        return sum(len(tickets) for tickets in self._in_flight.values())


def partition_key(partition: Mapping[str, object]) -> str:
    """A text equal for equal source partitions, whatever the order of their members."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"))
