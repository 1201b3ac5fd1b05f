"""Converts Arrow arrays to Python values and back, a column at a time.

This takes a third of the time that a loop over rows or values takes. Python values become Arrow without loss, or a
SchemaError names the field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from operator import add, itemgetter
from typing import TYPE_CHECKING, Any, Final

from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.inferred_loss import inferred_loss
from connect.api.lossless import below, loss_in, member_loss
from connect.api.schema import Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_S: Final = -62_135_596_800
_END_S: Final = 253_402_300_800
"""The year 10000 begins at this second of the epoch; datetime ends before it."""


def rows_from_arrow(array: pa.Array) -> Sequence[Any]:
    """Return the values in the Python form of `connect.api.schema`.

    Raise SchemaError when a value has no such form, as a date of the year 0.
    """
    import pyarrow as pa

    if pa.types.is_struct(array.type) and array.type.num_fields:
        made = struct_rows([field.name for field in array.type], [rows_from_arrow(c) for c in array.flatten()])
        if not array.null_count:
            return made
        return [row if valid else None for row, valid in zip(made, array.is_valid().to_pylist(), strict=True)]
    try:
        quick = _in_one_call(array)
        if quick is not None:
            return quick
        rows: Sequence[Any] = array.to_pylist(maps_as_pydicts="strict")
    except (ValueError, OverflowError, KeyError) as error:
        raise SchemaError(f"A value of Arrow type {array.type} has no Python form: {error}") from error
    return rows


def struct_rows(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return a dict per row of these columns, of which there is at least one."""
    if len(set(map(len, columns))) != 1 or len(names) != len(columns):
        raise ValueError(f"{len(names)} names for columns of {[len(column) for column in columns]} values.")
    return list(map(_maker(tuple(names)), *columns))


@lru_cache(maxsize=256)
def _maker(names: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    """Return a function that makes a dict with these keys from the values that it is given. It is compiled from source
    text, as that takes half the time of dict(zip(...)).
    """
    given = [f"a{i}" for i in range(len(names))]
    members = ", ".join(f"{name!r}: {value}" for name, value in zip(names, given, strict=True))
    made: Callable[..., dict[str, Any]] = eval(f"lambda {', '.join(given)}: {{{members}}}", {})  # noqa: S307 - of reprs
    return made


def _in_one_call(array: pa.Array) -> list[Any] | None:
    """Return values as Python's own, exactly and without Arrow scalars; None for types whose conversion by
    Arrow is slow, or is none of all values.
    """
    import pyarrow.types as t

    kind = array.type
    if (
        t.is_string(kind) or t.is_binary(kind) or t.is_integer(kind) or t.is_float64(kind) or t.is_float32(kind)
        or t.is_boolean(kind)
    ):  # fmt: skip
        values: list[Any] = array.to_pylist()
        return values
    if t.is_timestamp(kind) and kind.unit in {"ms", "us"} and kind.tz == "UTC":
        return _moments(array)
    return None


def _moments(array: pa.Array) -> list[Any]:
    """Return instants as datetimes in UTC. Arrow's own conversion is slow, as it looks the zone up for every value.

    OverflowError: a moment is beyond datetime's years.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = array.cast(pa.int64())
    per_s = 1000 if array.type.unit == "ms" else 1_000_000
    span = pc.min_max(numbers).as_py()
    if span["min"] is not None and not _FIRST_S * per_s <= span["min"] <= span["max"] < _END_S * per_s:
        raise OverflowError("a moment is not in the years 1 to 9999")
    values: list[Any] = list(map(add, repeat(_EPOCH), _spans(pc.fill_null(numbers, 0), array.type.unit)))
    for i in pc.indices_nonzero(array.is_null()).to_pylist() if array.null_count else ():
        values[i] = None
    return values


def _spans(numbers: pa.Int64Array, unit: str) -> Iterable[timedelta]:
    """Return spans of time. NumPy, which some extras bring, makes them in a third of the time that Python takes."""
    try:
        import numpy as np  # noqa: F401 - what Arrow calls below
    except ModuleNotFoundError:
        zeros = repeat(0)
        return (
            map(timedelta, zeros, zeros, numbers.to_pylist())
            if unit == "us"
            else map(timedelta, zeros, zeros, zeros, numbers.to_pylist())
        )
    spans: list[timedelta] = numbers.to_numpy().view(f"timedelta64[{unit}]").tolist()
    return spans


_FIX: Final = "Make the rows of a topic agree on one type per field, or use a converter with a schema."
_DICTS: Final = frozenset({dict, type(None)})


def arrow_from_rows(rows: Sequence[Any], schema: Schema | None) -> pa.Array:
    """Return the Arrow form of Python values. A row may be null even if the schema is not optional.

    Raise SchemaError when a value does not fit whole.
    """
    if schema is not None and schema.type is Type.STRUCT and schema.fields and set(map(type, rows)) <= _DICTS:
        return _struct_array(rows, schema, "")
    array = _made(rows, schema, "")
    loss = inferred_loss(rows, array.type) if schema is None else loss_in(rows, schema)
    if loss is not None:
        raise SchemaError(loss.message, field=loss.field, fix=_FIX if schema is None else None)
    return array


def member_array(values: Sequence[Any], schema: Schema, path: str) -> pa.Array:
    """Return the Arrow values of a struct's field at this path, one per row; a null needs an optional schema."""
    if schema.type is Type.STRUCT and schema.fields and set(map(type, values)) <= _DICTS:
        if not schema.optional and None in values:
            raise SchemaError(f"There is no value, and the schema requires a {schema.name or schema.type}.", field=path)
        return _struct_array(values, schema, path)
    array = _made(values, schema, path)
    loss = member_loss(values, schema, path)
    if loss is not None:
        raise SchemaError(loss.message, field=loss.field)
    return array


def members_of(rows: Sequence[dict[str, Any]], name: str) -> list[Any]:
    """Return the values of a field in these rows, null where a row lacks it."""
    try:
        return list(map(itemgetter(name), rows))
    except KeyError:
        return [row.get(name) for row in rows]


def _struct_array(rows: Sequence[dict[str, Any] | None], schema: Schema, path: str) -> pa.Array:
    import pyarrow as pa

    present: Sequence[dict[str, Any]] = [row for row in rows if row is not None]
    unknown: set[str] = set().union(*present).difference(schema.field_index)
    if unknown:
        field = below(path, min(unknown, key=str))
        raise SchemaError("The row has this field, its schema has not.", field=field)
    children = [member_array(members_of(present, f.name), f.schema, below(path, f.name)) for f in schema.fields]
    array = pa.StructArray.from_arrays(children, fields=list(arrow_type(schema)))
    if len(present) == len(rows):
        return array
    numbers = iter(range(len(present)))
    return array.take(pa.array([None if row is None else next(numbers) for row in rows], pa.int64()))


def _made(values: Sequence[Any], schema: Schema | None, path: str) -> pa.Array:
    import pyarrow as pa

    try:
        array = pa.array(values, type=None if schema is None else arrow_type(schema))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise SchemaError(f"A value does not fit its schema: {error}", field=path, fix=_FIX) from error
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
