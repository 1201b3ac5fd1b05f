"""Shows the offsets of a connector, and what given offsets would change of them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from connect.cluster.model.connector_values import PartitionOffset

ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """Holds a partition whose offset would change. `before` is None if nothing is stored; `after` is None if the offset
    would be forgotten. With `is_unknown` there is no such partition, and nothing can be written.
    """

    partition: str
    before: str | None
    after: str | None
    is_unknown: bool = False


def shown(value: object) -> str:
    """Return a partition or an offset as one line of JSON."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def mark(offsets: Sequence[PartitionOffset]) -> str:
    """Return a hash that tells these offsets from others."""
    lines = sorted(f"{shown(one.partition)} {shown(one.offset)}" for one in offsets)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def as_text(offsets: Sequence[PartitionOffset]) -> str:
    """Return offsets as a text that `PATCH …/offsets` takes, for a person to edit."""
    entries: list[Mapping[str, Any]] = [{"partition": one.partition, "offset": one.offset} for one in offsets]
    return orjson.dumps({"offsets": entries}, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()


def offset_changes(
    stored: Sequence[PartitionOffset], given: Sequence[PartitionOffset], unknown: Sequence[PartitionOffset] = ()
) -> list[OffsetChange]:
    """Return what would change if the given offsets were written; partitions that are not given stay as they are.
    `unknown` are those of the given ones whose partitions do not exist.
    """
    missing = {shown(one.partition) for one in unknown}
    known = {shown(one.partition): None if one.offset is None else shown(one.offset) for one in stored}
    wanted = {shown(one.partition): None if one.offset is None else shown(one.offset) for one in given}
    return [
        OffsetChange(partition, known.get(partition), offset, partition in missing)
        for partition, offset in wanted.items()
        if known.get(partition) != offset
    ]
