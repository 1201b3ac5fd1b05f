"""Checks if Arrow keeps every value of some rows. Arrow alone cuts fractions, microseconds and unknown fields silently.

Looks at the Python types of whole columns, not at each value: about as costly as making the array. Values are compared
one by one only where a column holds a type that could lose something.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from connect.api import schema as s
from connect.api.arrow import arrow_type

_NULL: Final = type(None)
_WHOLE: Final = frozenset({int, _NULL})
_KEPT: Final[Mapping[str, frozenset[type]]] = MappingProxyType(
    {
        s.Type.INT8: _WHOLE,
        s.Type.INT16: _WHOLE,
        s.Type.INT32: _WHOLE,
        s.Type.INT64: _WHOLE,
        s.Type.FLOAT64: frozenset({float, int, _NULL}),
        s.Type.BOOLEAN: frozenset({bool, _NULL}),
        s.Type.STRING: frozenset({str, _NULL}),
        s.Type.BYTES: frozenset({bytes, _NULL}),
        s.DECIMAL: frozenset({Decimal, int, _NULL}),
        s.DATE: frozenset({date, _NULL}),
    }
)
"""Arrow keeps every value of these Python types, or refuses it by itself. They are listed by type or logical name."""

_CLOCK: Final[Mapping[str, frozenset[type]]] = MappingProxyType(
    {s.TIME: frozenset({time}), s.TIMESTAMP: frozenset({datetime})}
)
"""Arrow keeps values of these Python types if they are whole milliseconds."""


class Loss(NamedTuple):
    """Holds the field whose value would not be kept, as a dotted path below the row, and a message that says why."""

    field: str
    message: str


def loss_in(rows: Sequence[Any], schema: s.Schema) -> Loss | None:
    """Return the first loss in rows that Arrow accepts. A whole row may be null; inside of a row a null needs an
    optional schema.

    It is no loss that a float32 holds only the nearest value.
    """
    return _column_loss([row for row in rows if row is not None], schema, "")


def _column_loss(values: Sequence[Any], schema: s.Schema, path: str) -> Loss | None:
    types = set(map(type, values))
    match schema.type:
        case s.Type.STRUCT if all(issubclass(t, Mapping) for t in types):
            return _struct_loss(values, schema, path)
        case s.Type.ARRAY if schema.items is not None:
            return member_loss(list(chain.from_iterable(values)), schema.items, f"{path}[]")
        case s.Type.MAP if schema.items is not None and all(issubclass(t, Mapping) for t in types):
            return member_loss([v for pairs in values for v in pairs.values()], schema.items, f"{path}.value")
        case s.Type.STRUCT | s.Type.MAP:
            return None  # These are pairs instead of a mapping, which Arrow takes as they are.
    if types <= _KEPT.get(schema.name or schema.type, frozenset()):
        return None
    if types <= _CLOCK.get(schema.name or "", frozenset()) and not any(v.microsecond % 1000 for v in values):
        return None
    return _value_loss(values, schema, path)


def _struct_loss(rows: Sequence[Mapping[str, Any]], schema: s.Schema, path: str) -> Loss | None:
    unknown: set[str] = set().union(*rows).difference(schema.field_index)
    if unknown:
        return Loss(below(path, min(unknown)), "The row has this field, its schema has not.")
    found = (member_loss([r.get(f.name) for r in rows], f.schema, below(path, f.name)) for f in schema.fields)
    return next((loss for loss in found if loss is not None), None)


def member_loss(values: Sequence[Any], schema: s.Schema, path: str) -> Loss | None:
    """Return the first loss in the values of a member at this path; a null counts as a loss if the schema is not
    optional.
    """
    if _NULL in set(map(type, values)):
        if not schema.optional:
            return Loss(path, f"There is no value, and the schema requires a {schema.name or schema.type}.")
        values = [v for v in values if v is not None]
    return _column_loss(values, schema, path)


def _value_loss(values: Iterable[Any], schema: s.Schema, path: str) -> Loss | None:
    import pyarrow as pa

    given = list(values)
    kept = pa.array(given, arrow_type(schema)).to_pylist()
    changed = (type(a) for a, b in zip(given, kept, strict=True) if a != b and not _same(a, b))
    kind = next(changed, None)
    return None if kind is None else Loss(path, f"A {kind.__name__} does not fit {schema.name or schema.type} whole.")


def _same(given: object, kept: object) -> bool:
    """Tell if nothing was lost between two values although == says that they differ."""
    match given, kept:
        case float(), float():
            return math.isnan(given) == math.isnan(kept) and math.isinf(given) == math.isinf(kept)
        case datetime(), datetime():
            return given.tzinfo is None and given.replace(tzinfo=UTC) == kept
        case str(), bytes():
            return given.encode() == kept
        case bytes(), str():
            return given == kept.encode()
    return False


def below(path: str, name: str) -> str:
    """Return the dotted path of a field below a path."""
    return f"{path}.{name}" if path else name
