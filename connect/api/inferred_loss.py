"""Finds values that Arrow would change silently when it infers one type for schemaless values.

For example, `false` beside 0.5 becomes 0.0. Arrow itself refuses a text beside a number, and a whole number that a
double cannot hold. So only those Arrow types are checked into which Arrow also takes values of other types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from connect.api.lossless import Loss, below

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS: Final = frozenset({bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta})
_NUMBER: Final = frozenset({int, float})


def inferred_loss(values: Sequence[Any], kind: pa.DataType, path: str = "") -> Loss | None:
    """Return where and why the type that was inferred for all values would change one; None if it keeps them all."""
    import pyarrow.types as t

    if not _takes_others(kind):
        return None
    present = [value for value in values if value is not None]
    if t.is_struct(kind):
        found = (inferred_loss([row.get(f.name) for row in present], f.type, below(path, f.name)) for f in kind)
        return next((loss for loss in found if loss is not None), None)
    if t.is_list(kind):
        return inferred_loss(list(chain.from_iterable(present)), kind.value_type, f"{path}[]")
    foreign = (set(map(type, present)) & _KINDS) - _kept_by(kind)
    if not foreign:
        return None
    name = min(other.__name__ for other in foreign)
    return Loss(path, f"A {name} stands beside values that make the field a {kind}, which would change it.")


def _takes_others(kind: pa.DataType) -> bool:
    return any(_kept_by(leaf) for leaf in _leaves(kind))


def _leaves(kind: pa.DataType) -> Iterator[pa.DataType]:
    if not kind.num_fields:
        yield kind
    for i in range(kind.num_fields):
        yield from _leaves(kind.field(i).type)


def _kept_by(kind: pa.DataType) -> frozenset[type]:
    """Return the Python types whose values an Arrow type keeps; empty if Arrow takes only one type of value into it
    anyway.
    """
    import pyarrow.types as t

    kept: Sequence[tuple[Callable[[pa.DataType], bool], frozenset[type]]] = (
        (t.is_floating, _NUMBER),
        (t.is_decimal, frozenset({Decimal, int})),
        (t.is_binary, frozenset({bytes})),
        (t.is_date, frozenset({date})),
        (t.is_timestamp, frozenset({datetime})),
        (t.is_time, frozenset({time})),
        (t.is_duration, frozenset({timedelta})),
    )
    return next((types for is_kind, types in kept if is_kind(kind)), frozenset())
