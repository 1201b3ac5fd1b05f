"""Bulk reads: a source cut into splits that any process reads alone, and the place from which following goes on.

A connector that can do this offers `BulkSource` beside `Connector`. A backfill plans once, reads each split in some
process of an engine, and hands over to the connector's tasks at `BulkPlan.following`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from connect.api.deadline import Deadline
from connect.api.records import Batch, SourcePosition


@dataclass(frozen=True, slots=True)
class SplitSize:
    """How large a split is wanted. Estimates decide, so a split may turn out larger or smaller."""

    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Split:
    """A bounded part of a source. No row is in two splits of one plan.

    id: unique in its plan; of letters, digits, '.', '_' and '-'. bounds: all that reading it needs beside the
    connector's configuration, as JSON; it is stored in Kafka and holds no secret. rows, size_bytes: estimates; 0 bytes
    means that the source cannot say.
    """

    id: str
    bounds: Mapping[str, object]
    rows: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """What is to be read.

    following: the positions that the connector's tasks go on from once every split is in Kafka: with these stored, its
    tasks read every row that no split has, and none that a split has. statements: what a person sees of how it is read.
    warnings: what is not exact, with its remedy.
    """

    splits: Sequence[Split]
    following: Sequence[SourcePosition]
    statements: Sequence[str] = ()
    warnings: Sequence[str] = ()


class BulkReader(Protocol):
    """Reads splits one after the other. Owned by one thread."""

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        """The rows of a split, in an order that is the same each time.

        after: the offset of the last batch that was kept of an earlier reading; None: from the split's beginning. A
        batch's `position.offset` goes there when reading goes on behind it. RetriableError: the source is away.
        """

    def count(self, split: Split) -> int:
        """How many rows the source has in a split now."""

    def close(self) -> None:
        """Release everything. May be called twice."""


@runtime_checkable
class BulkSource(Protocol):
    """A source connector that can be read in bulk. Optional."""

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Find the place at which following begins, and cut what is before it.

        Waits for the place until the deadline: RetriableError when it is over. ConnectError: it cannot be read in bulk,
        with the reason.
        """

    def bulk_reader(self) -> BulkReader:
        """A reader of splits of any plan of this configuration. It connects with the first call."""
