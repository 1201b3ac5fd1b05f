"""A table's token ring cut into ranges, and where each stands. Pure.

Murmur3 tokens run from -2^63 + 1 to 2^63 - 1; -2^63 is the ring's own least value, which no key has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition
from connectors.cassandra.tables import Table

LEAST_TOKEN: Final = -(2**63)
GREATEST_TOKEN: Final = 2**63 - 1
PROTOCOL: Final = "1"


@dataclass(frozen=True, slots=True)
class Split:
    """The partitions of a table whose tokens are above `after` and up to `upto`."""

    table: Table
    after: int
    upto: int

    @property
    def partition(self) -> Mapping[str, object]:
        """The source partition under which the framework keeps how far it is."""
        return {
            "protocol": PROTOCOL, "keyspace": self.table.keyspace, "table": self.table.name,
            "table_id": str(self.table.id), "after": self.after, "upto": self.upto,
        }  # fmt: skip

    def position(self, progress: Progress) -> SourcePosition:
        """How far the split is, for a batch."""
        return SourcePosition(self.partition, {"token": progress.token, "finished": progress.finished})


@dataclass(frozen=True, slots=True)
class Progress:
    """All partitions up to `token` were given out whole; `finished`: all there are."""

    token: int
    finished: bool = False


def cut(table: Table, count: int) -> list[Split]:
    """The ring in `count` ranges of the same size: keys are spread evenly over it."""
    size = GREATEST_TOKEN - LEAST_TOKEN
    bounds = [LEAST_TOKEN + size * i // count for i in range(count + 1)]
    return [Split(table, after, upto) for after, upto in pairwise(bounds)]


def share_of(splits: Sequence[Split], share: int, shares: int) -> list[Split]:
    """Every `shares`-th split: neighbours go to different tasks, so that all end at about the same time."""
    return list(splits[share::shares])


def progress_of(split: Split, stored: Mapping[str, object] | None) -> Progress:
    """Where to go on. ConnectError: what is stored is no place in this split."""
    if stored is None:
        return Progress(split.after)
    token, finished = stored.get("token"), stored.get("finished", False)
    if isinstance(token, bool) or not isinstance(token, int) or not split.after <= token <= split.upto:
        raise ConnectError(
            f"The stored offset of {split.table.title} has the token {token!r}, which is not between {split.after} and "
            f"{split.upto}.",
            fix="Reset the connector's offsets to read the table again.",
        )
    return Progress(token, finished is True)
