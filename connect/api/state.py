"""What a source task has to remember beyond its position, kept in a compacted topic of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class StateEntry(NamedTuple):
    """A key and what is remembered of it; value None: it is forgotten."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class StateEntries:
    """Holds entries that become durable together with the rows and the position of their batch, or not at all.

    They are written as they are: no transform, no converter. Of several entries of one key the last one counts.
    """

    topic: str
    partition: int
    entries: Sequence[StateEntry]
