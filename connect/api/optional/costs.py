"""Defines what a sink's user pays its target's owner a day, told before anything runs. Sinks may lack it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from connect.lib.deadline import Deadline


@dataclass(frozen=True, slots=True)
class TopicRate:
    """Tells what comes into a topic, as Kafka's offsets of the last `span_s` seconds say it.

    row_bytes: of a record's value in Kafka, on average; None: it is not known. sampled_records: how many records were
    read for it, of which `distinct_keys` have different keys; 0: none has one.
    """

    rows_per_day: int
    span_s: float
    row_bytes: int | None = None
    sampled_records: int = 0
    distinct_keys: int = 0


TopicRates = Callable[[Collection[str], Deadline], Mapping[str, TopicRate]]
"""Samples topics, and returns what comes into them by name. ConnectError: Kafka cannot be asked."""


@dataclass(frozen=True, slots=True)
class CostQuestion:
    """Tells what is known of all topics; None: it is taken from the topic's rate, or else from the table.

    prices: the text of a YAML file, whose prices replace the sink's own by name. rates: what comes into topics,
    by name.
    """

    rows_per_day: int | None = None
    row_bytes: int | None = None
    prices: bytes | None = None
    rates: Mapping[str, TopicRate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModeCost:
    """Tells what a day of one way to write costs. `is_lower_bound`: queries or background work come on top.

    bytes_at_once: what its dearest statement is billed for. is_set: the configuration writes so.
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
    """A sink connector that can say what writing costs."""

    def costs(self, question: CostQuestion, deadline: Deadline) -> Sequence[TableCost]:
        """Return the cost of each table of the configuration's topics. ConfigError tells what is missing or wrong."""


@runtime_checkable
class SamplingSink(Protocol):
    """A sink connector that wants to know how much comes into its topics. Optional."""

    def sampling(self, rates: TopicRates) -> None:
        """Take what samples topics. Called once, before `check`."""
