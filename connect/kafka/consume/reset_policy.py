"""Says where a group reads on whose offset is not in the log, by its auto.offset.reset. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from connect.kafka.client.java_names import BY_DURATION
from connect.lib.javatext.durations import parse_duration

_EARLIEST: Final = frozenset({"earliest", "smallest", "beginning"})
_LATEST: Final = frozenset({"latest", "largest", "end"})
_NONE: Final = frozenset({"none", "error"})


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """Says where to read on. `text` is the setting's value; with by_duration `age` is that of the first row to read."""

    text: str
    age: timedelta | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the policy of a value of Java's or librdkafka's. Raise ValueError for any other text."""
        value = text.strip().lower()
        if value.startswith(BY_DURATION):
            return cls(value, parse_duration(value.removeprefix(BY_DURATION)))
        if value in _EARLIEST | _LATEST | _NONE:
            return cls(value)
        raise ValueError("must be one of earliest, latest, none, by_duration:<a span as PT1H or P7D>")

    @property
    def is_none(self) -> bool:
        """Return True if the reader must fail instead of reading on."""
        return self.text in _NONE

    @property
    def is_earliest(self) -> bool:
        """Return True if reading begins at the first record of the log."""
        return self.text in _EARLIEST

    @property
    def is_latest(self) -> bool:
        """Return True if reading begins behind the last record of the log."""
        return self.text in _LATEST

    def place(self, now_ms: int) -> int:
        """Return the place to ask the brokers for: an epoch in milliseconds, OFFSET_BEGINNING or OFFSET_END."""
        if self.age is not None:
            return max(0, now_ms - round(self.age.total_seconds() * 1000))
        return OFFSET_END if self.text in _LATEST else OFFSET_BEGINNING
