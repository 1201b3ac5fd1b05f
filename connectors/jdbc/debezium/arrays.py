"""Reads the texts of PostgreSQL's arrays as lists of one dimension. Pure."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connectors.jdbc.debezium.kinds import Kind, Unavailable
from connectors.jdbc.values.temporal import Misfit

_ITEM: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)|(\{)', re.DOTALL)


def array(item: Kind, *, optional_items: bool = True, unavailable: Unavailable) -> Kind:
    """Return the kind of an array. As in Debezium, each array within an array is null."""
    schema = s.array(item.schema.as_optional(optional_items))
    target = arrow_type(schema)

    def read(values: pa.BinaryArray) -> pa.Array:
        found = [None if text is None else items(text.decode()) for text in values.to_pylist()]
        ends = np.cumsum([0, *(0 if one is None else len(one) for one in found)])
        flat = [None if text is None else text.encode() for one in found if one is not None for text in one]
        read_items = item.read(pa.array(flat, pa.binary()))
        missing = pa.array([one is None for one in found] + [False])
        offsets = pa.array(ends, pa.int32(), mask=missing.to_numpy(zero_copy_only=False))
        made = pa.ListArray.from_arrays(offsets, read_items)
        return made.cast(target) if made.type != target else made

    return Kind(schema, read, [], unavailable)


def items(text: str) -> list[str | None]:
    """Return the texts of an array's items; None stands for NULL and for an array within the array."""
    _, is_bounded, rest = text.partition("]={") if text.startswith("[") else ("", "", text)
    body = "{" + rest if is_bounded else text
    if not body.startswith("{") or not body.endswith("}"):
        raise Misfit("it is no array in PostgreSQL's form")
    found: list[str | None] = []
    at = 1
    while at < len(body) - 1:
        match = _ITEM.match(body, at)
        if match is None:
            raise Misfit("it is no array in PostgreSQL's form")
        quoted, bare = match[1], match[2]
        if match[3]:
            found.append(None)
        else:
            found.append(_plain(quoted) if bare is None else None if bare.upper() == "NULL" else bare)
        end = _end_of(body, at) if match[3] else match.end()
        if body[end : end + 1] not in {",", "}"}:
            raise Misfit("it is no array in PostgreSQL's form")
        at = end + 1
    return found


def _plain(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def _end_of(body: str, at: int) -> int:
    """Return the place behind an array that is within an array."""
    depth = 0
    is_quoted = False
    while True:
        letter = body[at]
        if letter == "\\":
            at += 1
        elif letter == '"':
            is_quoted = not is_quoted
        elif not is_quoted and letter in "{}":
            depth += 1 if letter == "{" else -1
        at += 1
        if not depth:
            return at
