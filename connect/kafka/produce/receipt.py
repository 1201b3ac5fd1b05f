"""Counts the sent rows that Kafka has not acknowledged yet, and describes failed ones. No I/O, no clock."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import KafkaError


class Undelivered(NamedTuple):
    """Describes a row that was queued and then not delivered."""

    error: KafkaError
    topic: str
    size_bytes: int

    @property
    def doing(self) -> str:
        """Return what was tried, as a phrase for errors."""
        return f"writing to topic {self.topic} (record of {self.size_bytes} bytes)"


class Receipt:
    """Counts parts of rows, of any size, that a sender queues and that Kafka acknowledges.

    A part with a failed row is never acknowledged, so its receipt is never settled. One thread may use it at a time.
    """

    def __init__(self) -> None:
        self._open_parts = 0

    def expect(self) -> None:
        """Take note that a part is about to be queued."""
        self._open_parts += 1

    def acknowledge(self) -> None:
        """Take note that all rows of a part are in Kafka, or were not queued after all."""
        self._open_parts -= 1

    @property
    def is_settled(self) -> bool:
        """Return True if all rows are in Kafka, as of the last `check` of the producer."""
        return self._open_parts == 0
