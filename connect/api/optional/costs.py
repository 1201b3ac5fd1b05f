"""Defines what a sink's user pays its target's owner a day, told before anything runs. Sinks may lack it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from connect.lib.deadline import Deadline


@dataclass(frozen=True, slots=True)
class TopicRate:
    """Tells how much comes into a topic, by the offsets that Kafka had `span_s` seconds ago and now.

    `row_bytes` is the average size of a record's value in Kafka; it is None if that is not known. `sampled_records` is
    how many records were read to learn this, and `distinct_keys` is how many different keys they have, 0 if no record
    has a key.
    """

    rows_per_day: int
    span_s: float
    row_bytes: int | None = None
    sampled_records: int = 0
    distinct_keys: int = 0


TopicRates = Callable[[Collection[str], Deadline], Mapping[str, TopicRate]]
"""A function of this type samples topics, and returns their rates by name. ConnectError: Kafka cannot be asked."""


@dataclass(frozen=True, slots=True)
class CostQuestion:
    """Tells what a user knows about all topics, for an estimate of the costs.

    `rows_per_day` and `row_bytes` hold for each topic. If they are None, they are taken from the topic's rate in
    `rates`, or else from the table. `prices` is the text of a YAML file, whose prices replace the sink's own by name.
    """

    rows_per_day: int | None = None
    row_bytes: int | None = None
    prices: bytes | None = None
    rates: Mapping[str, TopicRate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModeCost:
    """Tells what one way to write costs a day. `is_lower_bound` says that queries or background work cost more on top.
    `bytes_at_once` are the bytes that its dearest statement is billed for. `is_set` says that the configuration chooses
    this way.
    """

    mode: str
    bytes_per_day: int
    usd_per_day: float
    freshness: str
    fits: bool
    why: str
    is_lower_bound: bool = False
    bytes_at_once: int = 0
    is_set: bool = False


@dataclass(frozen=True, slots=True)
class TableCost:
    """Tells what is known of a table, what was assumed, and the cost of each way to write it."""

    table: str
    facts: str
    modes: Sequence[ModeCost]


@runtime_checkable
class PricedSink(Protocol):
    """A sink connector that can say what writing costs may offer this."""

    def costs(self, question: CostQuestion, deadline: Deadline) -> Sequence[TableCost]:
        """Return the cost of each table of the configuration's topics. ConfigError tells what is missing or wrong."""


@runtime_checkable
class SamplingSink(Protocol):
    """A sink connector may offer this to learn how much comes into its topics."""

    def sampling(self, rates: TopicRates) -> None:
        """Take the function that samples topics. It is called once, before `check`."""
