"""Tells how many parts of what was sent as one still wait for Kafka's acknowledgement. It has no I/O and no clock."""

from __future__ import annotations


class Receipt:
    """Counts what a sender queues for it and what Kafka acknowledges, in parts of any size.

    A part with a row that failed is never acknowledged, and so the receipt is never settled. One thread at a time.
    """

    def __init__(self) -> None:
        self._open_parts = 0

    def expect(self) -> None:
        """Take note that a part is about to be queued."""
        self._open_parts += 1

    def acknowledge(self) -> None:
        """Take note that every row of a part is in Kafka, or was not queued after all."""
        self._open_parts -= 1

    @property
    def is_settled(self) -> bool:
        """Return True if every row is in Kafka. As of the last time that its producer was asked to `check`."""
        return self._open_parts == 0
