"""Makes the Arrow array of a column's changes, with an entry per event: null where the event changed nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from connect.api.errors import SchemaError
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import Cells, decode_column
from connectors.cassandra.cql.values import UnknownFieldError
from connectors.cassandra.log.events.event_arrays import NO_TTL, NONE, ColumnChanges, Marks, Times
from connectors.cassandra.log.segments.segment import Ints

_TIMEUUID: Final = CqlType("timeuuid")
_FIELD_NUMBER: Final = CqlType("smallint")


def struct_of(arrays: Sequence[pa.Array], kind: pa.StructType, null: Any = None) -> pa.StructArray:
    """Join columns into one array of structs, which is null where `null` says so."""
    mask = pa.array(null) if null is not None and null.any() else None
    return pa.StructArray.from_arrays(list(arrays), fields=list(kind), mask=mask)


def spread(array: pa.Array, rows: Ints, count: int) -> pa.Array:
    """Spread the values of some rows, in their order, over `count` rows; the others are null."""
    if len(rows) == count:
        return array
    places = np.full(count, -1, np.int64)
    places[rows] = np.arange(len(rows))
    return array.take(pa.array(places, pa.int64(), mask=places < 0))


def times_columns(times: Times) -> list[pa.Array]:
    """Return the columns writetime_us, ttl_s and local_deletion_s."""
    return [pa.array(times.writetimes_us), nullable(times.ttls_s, NO_TTL), nullable(times.locals_s, NONE)]


def nullable(numbers: Any, none: int) -> pa.Array:
    """Return an Arrow array of numbers, in which the number `none` becomes null."""
    mask = numbers == none
    if mask.all():
        return pa.nulls(len(numbers), pa.from_numpy_dtype(numbers.dtype))
    return pa.array(numbers, mask=mask if mask.any() else None)


def mark_column(marks: Marks, kind: pa.StructType, count: int, *, has_ttl: bool) -> pa.Array:
    """Return the column of liveness marks, or of deletions; these have no time to live (`has_ttl` False)."""
    if not len(marks.rows):
        return pa.nulls(count, kind)
    writetimes, ttls, locals_s = times_columns(marks.times)
    arrays = [writetimes, ttls, locals_s] if has_ttl else [writetimes, locals_s]
    return spread(struct_of(arrays, kind), marks.rows, count)


def change_column(changes: ColumnChanges, cql: CqlType, kind: pa.StructType, name: str, count: int) -> pa.Array:
    """Return the changes of a column of this type in `count` events; `kind` is the Arrow type of one change.

    SchemaError names the column. UnknownFieldError: a type has a field that was added since the schema was read.
    """
    if not len(changes.rows):
        return pa.nulls(count, kind)
    if not cql.is_multicell:
        return _cell_column(changes, cql, kind, name, count)
    cleared = nullable(changes.cleared_us, NONE)
    if cql.name == "udt":
        members = [cleared, _fields(changes, cql, kind, name)]
    else:
        members = [cleared, *_elements(changes, cql, kind, name)]
    return spread(struct_of(members, kind), changes.rows, count)


def _cell_column(changes: ColumnChanges, cql: CqlType, kind: pa.StructType, name: str, count: int) -> pa.Array:
    """Return the column of a cell: value, times, and whether it was removed."""
    rows, values, times, null = changes.rows, changes.values, changes.times, None
    if len(rows) != count:
        null = np.ones(count, np.bool_)
        null[rows] = False
        sizes = _among(values.sizes, rows, count, -1)
        values = Cells(values.data, _among(values.starts, rows, count, 0), sizes)
        times = Times(
            _among(times.writetimes_us, rows, count, 0),
            _among(times.ttls_s, rows, count, NO_TTL),
            _among(times.locals_s, rows, count, NONE),
        )
    arrays = [decode_column(values, cql, name), *times_columns(times), pa.array(values.sizes < 0)]
    return struct_of(arrays, kind, null)


def _among(numbers: Any, rows: Ints, count: int, fill: int) -> Any:
    spread_out = np.full(count, fill, numbers.dtype)
    spread_out[rows] = numbers
    return spread_out


def _elements(changes: ColumnChanges, cql: CqlType, kind: pa.StructType, name: str) -> list[pa.Array]:
    """Return the columns of the elements that were set and of those that were removed."""
    path_type = _TIMEUUID if cql.name == "list" else cql.parameters[0]
    is_removed = changes.values.sizes < 0
    kept, gone = np.flatnonzero(~is_removed), np.flatnonzero(is_removed)
    paths = decode_column(changes.paths.take(kept), path_type, name)
    values = [] if cql.name == "set" else [decode_column(changes.values.take(kept), cql.parameters[-1], name)]
    written = [paths, *values, *times_columns(changes.times.take(kept))]
    writetimes, _, locals_s = times_columns(changes.times.take(gone))
    removed = [decode_column(changes.paths.take(gone), path_type, name), writetimes, locals_s]
    return [
        _lists(changes.ends, ~is_removed, written, kind.field("set").type),
        _lists(changes.ends, is_removed, removed, kind.field("removed").type),
    ]


def _lists(ends: Ints, is_member: Any, members: Sequence[pa.Array], kind: pa.ListType) -> pa.ListArray:
    counted = np.zeros(len(is_member) + 1, np.int32)
    np.cumsum(is_member, out=counted[1:])
    offsets = pa.array(np.append(np.int32(0), counted[ends]))
    return pa.ListArray.from_arrays(offsets, struct_of(members, kind.value_type), type=kind)


def _fields(changes: ColumnChanges, cql: CqlType, kind: pa.StructType, name: str) -> pa.Array:
    """Return the fields of a user-defined type, each as a column."""
    fields = kind.field("fields").type
    numbers = decode_column(changes.paths, _FIELD_NUMBER, name)
    if numbers.null_count:
        raise SchemaError("a field has no number", field=name)
    places = numbers.to_numpy()
    count = len(changes.rows)
    if len(places) and not 0 <= places.min() <= places.max() < len(cql.fields):
        raise UnknownFieldError(
            f"A value has field {places.max() + 1} of a type with {len(cql.fields)} fields.", field=name
        )
    of_change = np.repeat(np.arange(count), np.diff(changes.ends, prepend=0))
    arrays = []
    for number, (field, parameter) in enumerate(zip(fields, cql.parameters, strict=True)):
        own = np.flatnonzero(places == number)
        of_field = replace(changes, rows=of_change[own], values=changes.values.take(own), times=changes.times.take(own))
        arrays.append(_cell_column(of_field, parameter, field.type, f"{name}.{field.name}", count))
    return struct_of(arrays, fields)
