"""Converts a column of moments to another form. Each value becomes what `Moments.convert` makes of it.

Arrow's kernels convert numbers and dates; each distinct text is read or written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from connect.api.arrow import arrow_type
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.schema import Schema
from connect.lib.javatext.calendar import DAY_MS
from connect.transforms.time.moments import Form, Moments, form_of, target_schema

if TYPE_CHECKING:
    import pyarrow as pa

_MILLISECONDS = "milliseconds"
_END_MS = 253_402_300_800_000
"""This is the end of the year 9999 in ms; later years have five digits."""


def convert_column(column: pa.Array, schema: Schema, moments: Moments) -> pa.Array:
    """Return the moments in the target form. RejectedRowsError names rows that are no moments."""
    import pyarrow as pa

    source = form_of(schema)
    scaled = moments.precision != _MILLISECONDS
    if source is Form.STRING or (source is Form.UNIX and scaled):
        times = _per_distinct_value(column, lambda value: moments.read(value, source), pa.int64())
    else:
        times = _milliseconds(column, source)
    kind = arrow_type(target_schema(moments.target, optional=True))
    if moments.target is Form.STRING and (texts := _texts(times, moments)) is not None:
        return texts
    if moments.target is Form.STRING or (moments.target is Form.UNIX and scaled):
        return _per_distinct_value(times, moments.written, kind)
    return _written(times, moments.target, kind)


def _milliseconds(column: pa.Array, source: Form) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if source is Form.DATE:
        return pc.multiply(column.cast(pa.int32()).cast(pa.int64()), DAY_MS)
    if source is Form.TIME:
        return column.cast(pa.int32()).cast(pa.int64())
    return column.cast(pa.int64())


def _texts(times: pa.Array, moments: Moments) -> pa.Array | None:
    """Return the texts of moments; None if Arrow has no such pattern, or if a moment is before 1970 or after 9999."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern = None if moments.format is None else moments.format.strftime
    span = pc.min_max(times)
    if pattern is None or not span["min"].is_valid or span["min"].as_py() < 0 or span["max"].as_py() >= _END_MS:
        return None
    return pc.strftime(pc.divide(times, 1000).cast(pa.timestamp("s", "UTC")), format=pattern)


def _written(times: pa.Array, target: Form, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if target in {Form.UNIX, Form.TIMESTAMP}:
        return times.cast(kind)
    days = pc.divide(times, DAY_MS)
    days = pc.if_else(pc.greater(pc.multiply(days, DAY_MS), times), pc.subtract(days, 1), days)
    if target is Form.DATE:
        _check_days(days)
        return days.cast(pa.int32()).cast(kind)
    return pc.subtract(times, pc.multiply(days, DAY_MS)).cast(pa.int32()).cast(kind)


def _check_days(days: pa.Array) -> None:
    import pyarrow.compute as pc

    too_far = pc.indices_nonzero(pc.greater(pc.abs(days), 2**31 - 1)).to_pylist()
    if too_far:
        raise RejectedRowsError({i: SchemaError(f"Day {days[i].as_py()} is beyond any Date.") for i in too_far})


def _per_distinct_value(column: pa.Array, change: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(column)
    made: list[Any] = []
    failed: dict[int, Exception] = {}
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            made.append(change(value))
        except SchemaError as error:
            made.append(None)
            failed[place] = error
    if failed:
        places = enumerate(encoded.indices.to_pylist())
        raise RejectedRowsError({i: failed[place] for i, place in places if place in failed})
    return pa.array(made, kind).take(encoded.indices)
