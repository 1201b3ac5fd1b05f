"""Tells what of the rows that were sent waits for Kafka's acknowledgement, or failed. It has no I/O and no clock."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import KafkaError


class Undelivered(NamedTuple):
    """A row that Kafka did not take after all."""

    error: KafkaError
    topic: str
    size_bytes: int

    @property
    def doing(self) -> str:
        """Return what was tried, as errors say it."""
        return f"writing to topic {self.topic} (record of {self.size_bytes} bytes)"


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
