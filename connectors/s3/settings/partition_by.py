"""Parses texts that tell how a table is partitioned, such as `day(at), bucket(id, 16), region`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FIELD: Final = re.compile(r"\s*(?:(\w+)\s*\(\s*([\w.]+)\s*(?:,\s*(\d+)\s*)?\)|([\w.]+))\s*(?:,|$)", re.ASCII)
_OF_TIME: Final = ("year", "month", "day", "hour")
_WITH_NUMBER: Final = ("bucket", "truncate")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """Names a field and the transform of its values, as Iceberg's specification does: identity, day, bucket[16]."""

    source: str
    transform: str


def parse_partition_by(text: str) -> tuple[PartitionField, ...]:
    """Return the fields that partition a table, in order. ValueError: the text has another form."""
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise ValueError(f"Give fields and transforms such as day(at), bucket(id, 16), region; not {text[at:]!r}")
        found.append(_field(*match.groups()))
        at = match.end()
    return tuple(found)


def _field(name: str | None, source: str | None, number: str | None, plain: str | None) -> PartitionField:
    if plain is not None or name is None or source is None:
        return PartitionField(plain or "", "identity")
    transform = name.lower().removesuffix("s")
    if transform in _OF_TIME and number is None:
        return PartitionField(source, transform)
    if transform in _WITH_NUMBER and number is not None and int(number) > 0:
        return PartitionField(source, f"{transform}[{number}]")
    known = ", ".join((*(f"{one}(field)" for one in _OF_TIME), *(f"{one}(field, number)" for one in _WITH_NUMBER)))
    raise ValueError(f"{name} is no transform with these arguments; there are {known}")
