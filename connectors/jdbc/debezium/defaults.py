"""Reads the default of a column for its schema, from the SQL text in the catalog. Pure.

As in Debezium, a default that the server computes becomes the zero of the column's type: for `now()` the schema has
1970-01-01 as its default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from connectors.jdbc.debezium.kinds import Kind
from connectors.jdbc.values.temporal import Misfit

_CAST: Final = r"(?:::[a-zA-Z_\"][\w \".(),]*(?:\[\])*)*"
_LITERAL: Final = re.compile(
    rf"(?:\(*(?P<number>-?[0-9][0-9.]*(?:[eE][+-]?\d+)?)\)*|(?P<word>true|false)|[BE]?'(?P<text>(?:[^']|'')*)'){_CAST}",
    re.DOTALL,
)
_CALL: Final = re.compile(rf"\(*[\w.\"]+\(.*\)\)*{_CAST}", re.DOTALL)
_WORD: Final = re.compile(rf"\(?(?P<word>[A-Z_]+)\)?(?:\(\d\))?{_CAST}")
_MOMENT: Final = "1970-01-01 00:00:00"
_ZERO: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("int2", "int4", "int8", "numeric", "float4", "float8"), "0"),
        **dict.fromkeys(("text", "varchar", "bpchar", "xml"), ""),
        **dict.fromkeys(("json", "jsonb"), "{}"), **dict.fromkeys(("bit", "varbit"), "0"),
        "bool": "f", "uuid": "00000000-0000-0000-0000-000000000000", "date": "1970-01-01", "time": "00:00:00",
        "timetz": "00:00:00+00", "timestamp": _MOMENT, "timestamptz": f"{_MOMENT}+00", "interval": "00:00:00",
    }
)  # fmt: skip
"""Schemas have defaults for columns of these types. Each maps to PostgreSQL's text of the type's zero."""
_MOMENTS: Final = frozenset({"date", "time", "timetz", "timestamp", "timestamptz"})
_TEXTS: Final = frozenset({"text", "varchar", "bpchar"})


def default_of(expression: str | None, kind: Kind, name: str, category: str) -> object:
    """Return the default as a Python value, or None if the schema has no default.

    `expression` is the SQL text; `name` and `category` are those of the column's type.
    """
    if expression is None or expression.startswith("NULL") or (category != "e" and name not in _ZERO):
        return None
    text = _text(expression, name)
    if text is None:
        return None
    try:
        (value,) = kind.read(pa.array([text.encode()], pa.binary())).to_pylist()
    except (Misfit, pa.ArrowException, ValueError):
        return None
    if isinstance(value, dict):
        # A struct cannot be a default.
        return None
    return _scaled(value, str(kind.absent)) if name == "numeric" and isinstance(value, str) else value


def _scaled(text: str, zero: str) -> str:
    """Return a number with as many digits behind the point as the type's zero has."""
    missing = len(zero.partition(".")[2]) - len(text.partition(".")[2])
    return text + ("" if "." in text or missing <= 0 else ".") + "0" * max(missing, 0)


def _text(expression: str, name: str) -> str | None:
    found = _LITERAL.fullmatch(expression)
    if found is not None:
        return found["number"] or found["word"] or (found["text"] or "").replace("''", "'")
    if _CALL.fullmatch(expression):
        return _ZERO.get(name)
    word = _WORD.fullmatch(expression)
    if word is None:
        return None
    return _ZERO[name] if name in _MOMENTS else word["word"] if name in _TEXTS else None
