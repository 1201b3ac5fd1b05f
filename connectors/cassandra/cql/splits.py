"""Cuts a table's token ring into ranges, and describes how far each range is read. Pure.

Murmur3 tokens run from -2^63 + 1 to 2^63 - 1; -2^63 is the ring's own least value, which no key has.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

from connect.api.errors import ConnectError
from connect.api.optional.given_offsets import PARTITION, whole_number
from connect.api.records import SourcePosition
from connectors.cassandra.cql.tables import Table

LEAST_TOKEN: Final = -(2**63)
GREATEST_TOKEN: Final = 2**63 - 1
_RING: Final = GREATEST_TOKEN - LEAST_TOKEN
PROTOCOL: Final = "1"


@dataclass(frozen=True, slots=True)
class Split:
    """Holds a range of a table's partitions: those whose tokens are above `after` and at most `upto`."""

    table: Table
    after: int
    upto: int

    @property
    def partition(self) -> Mapping[str, object]:
        """Return the source partition that stands for this split in stored offsets."""
        return {
            "protocol": PROTOCOL, "keyspace": self.table.keyspace, "table": self.table.name,
            "table_id": str(self.table.id), "after": self.after, "upto": self.upto,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SplitProgress:
    """Describes a place in a split: everything before it is read, so all rows with tokens below `token` are.

    If `partition_key` is None, all rows of `token` itself are read too. If it is given and `clustering` is None, the
    partitions of this token are read up to and including that one. If both are given, the partition is read up to and
    including the row of `clustering`. Values are as Cassandra stores them.
    """

    token: int
    partition_key: tuple[bytes, ...] | None = None
    clustering: tuple[bytes, ...] | None = None
    finished: bool = False

    @property
    def offset(self) -> Mapping[str, object]:
        """Return the source offset that stands for this place."""
        offset: dict[str, object] = {"token": self.token, "finished": self.finished}
        if self.partition_key is not None:
            offset["partition_key"] = _as_text(self.partition_key)
        if self.clustering is not None:
            offset["clustering"] = _as_text(self.clustering)
        return offset


def cut(table: Table, count: int) -> list[Split]:
    """Cut the ring into `count` ranges of equal size; keys are spread evenly over the ring."""
    bounds = [_bound(i, count) for i in range(count + 1)]
    return [Split(table, after, upto) for after, upto in pairwise(bounds)]


def count_in(stored: Iterable[SourcePosition]) -> int | None:
    """Return the number of ranges that most of the stored offsets belong to; None if no offsets are stored."""
    found = Counter(_count_of(position.partition) for position in stored if position.offset is not None)
    del found[None]
    return found.most_common(1)[0][0] if found else None


def _bound(number: int, count: int) -> int:
    return LEAST_TOKEN + _RING * number // count


def _count_of(partition: Mapping[str, object]) -> int | None:
    after, upto = partition.get("after"), partition.get("upto")
    if not (isinstance(after, int) and isinstance(upto, int) and LEAST_TOKEN <= after < upto <= GREATEST_TOKEN):
        return None
    count = round(Fraction(_RING, upto - after))
    number = round(Fraction((after - LEAST_TOKEN) * count, _RING))
    return count if (_bound(number, count), _bound(number + 1, count)) == (after, upto) else None


def share_of(splits: Sequence[Split], share: int, shares: int) -> list[Split]:
    """Return every `shares`-th split, beginning with number `share`.

    Neighbours go to different tasks, so that all tasks end at about the same time.
    """
    return list(splits[share::shares])


def progress_of(split: Split, stored: Mapping[str, object] | None) -> SplitProgress:
    """Return the place from which to go on reading a split; the split's begin if `stored` is None.

    Raise ConnectError when the stored offset is no place in this split.
    """
    if stored is None:
        return SplitProgress(split.after)
    token, finished = stored.get("token"), stored.get("finished", False)
    if isinstance(token, bool) or not isinstance(token, int) or not split.after <= token <= split.upto:
        raise _no_place(split, f"the token {token!r}, which is not between {split.after} and {split.upto}")
    key = _values(split, stored, "partition_key", len(split.table.partition_key))
    clustering = _values(split, stored, "clustering", len(split.table.clustering))
    return SplitProgress(token, key, clustering, finished is True)


def broken_place(partition: Mapping[str, object], offset: Mapping[str, object]) -> dict[str, str]:
    """Return what is wrong with an offset that a person gives for a split: member -> end of a sentence or ""."""
    after, upto = partition.get("after"), partition.get("upto")
    if whole_number(after, LEAST_TOKEN) or whole_number(upto, LEAST_TOKEN):
        return {PARTITION: 'has no whole numbers "after" and "upto", the tokens that bound its range'}
    assert isinstance(after, int)
    assert isinstance(upto, int)
    keys = {name: _broken_key(offset[name]) for name in ("partition_key", "clustering") if offset.get(name) is not None}
    return {"token": whole_number(offset.get("token"), after, upto), **keys}


def _broken_key(value: object) -> str:
    try:
        _decoded(value)
    except ValueError as error:
        return f"cannot be read as values in base64 with commas between them ({error})"
    return ""


def stored_key(table: Table, values: Sequence[bytes]) -> bytes:
    """Return a partition key as the bytes by which the partitions of one token are ordered."""
    if len(table.partition_key) == 1:
        return values[0]
    return b"".join(len(value).to_bytes(2, "big") + value + b"\x00" for value in values)


def _values(split: Split, stored: Mapping[str, object], name: str, count: int) -> tuple[bytes, ...] | None:
    text = stored.get(name)
    if text is None:
        return None
    try:
        values = _decoded(text)
    except ValueError as error:
        raise _no_place(split, f"a {name} that cannot be read ({error})") from error
    if len(values) != count:
        raise _no_place(split, f"a {name} of {len(values)} columns, the table has {count}")
    return values


def _decoded(text: object) -> tuple[bytes, ...]:
    """Return the key values that a stored offset holds as text. ValueError: the text is not base64."""
    return tuple(base64.b64decode(part, validate=True) for part in str(text).split(","))


def _as_text(values: Sequence[bytes]) -> str:
    return ",".join(base64.b64encode(value).decode() for value in values)


def _no_place(split: Split, what: str) -> ConnectError:
    return ConnectError(
        f"The stored offset of {split.table.title} has {what}.",
        fix="Reset the connector's offsets to read the table again.",
    )
