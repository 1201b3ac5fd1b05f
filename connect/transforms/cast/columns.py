"""Casts a column to another type. Each value becomes what `cast_value` makes of it.

Arrow's kernels are used where they agree with Java. Where none does (floats as text, base64, decimals), `cast_value`
gets the values one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.schema import Schema, Type
from connect.api.values.text import BITS
from connect.transforms.cast.values import cast_value, unsupported
from connect.transforms.settings.cast_spec import SOURCES

if TYPE_CHECKING:
    import pyarrow as pa

_FLOATS = (Type.FLOAT32, Type.FLOAT64)
_PLAIN_INTEGER = r"^-?[0-9]{1,18}$"
_PLAIN_REAL = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"


def cast_column(column: pa.Array, schema: Schema, target: Type) -> pa.Array:
    """Return the column cast to another type. RejectedRowsError names the rows that cannot be cast."""
    import pyarrow as pa

    kind = arrow_type(Schema(target))
    if schema.type not in SOURCES:
        return _nulls_alone(column, schema, kind)
    if schema.type is target and schema.name is None:
        return column
    if schema.name in {s.DATE, s.TIME, s.TIMESTAMP} and target is not Type.STRING:
        column = column.cast(pa.int64() if schema.name == s.TIMESTAMP else pa.int32())
        schema = Schema(schema.type)
    made = _by_kernel(column, schema, target, kind) if schema.name is None else None
    return made if made is not None else _by_value(column, schema, target, kind)


def _nulls_alone(column: pa.Array, schema: Schema, kind: pa.DataType) -> pa.Array:
    """Return nulls of another type in place of a column that has only nulls, as a null can have any type.

    RejectedRowsError names the rows that are not null: values of the column's type cannot be cast.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.indices_nonzero(column.is_valid()).to_pylist()
    if values:
        raise RejectedRowsError(dict.fromkeys(values, unsupported(schema.type)))
    return pa.nulls(len(column), kind)


def _by_kernel(column: pa.Array, schema: Schema, target: Type, kind: pa.DataType) -> pa.Array | None:
    source = schema.type
    if source in BITS:
        return _from_integers(column, target, kind)
    if source in _FLOATS:
        return _from_floats(column, target, kind)
    if source is Type.BOOLEAN:
        import pyarrow as pa

        return column.cast(pa.int8()).cast(kind) if target is not Type.STRING else column.cast(kind)
    return _from_texts(column, target, kind) if source is Type.STRING else None


def _from_integers(column: pa.Array, target: Type, kind: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    if target is Type.BOOLEAN:
        return pc.not_equal(column, 0)
    return pc.cast(column, kind, safe=False)


def _from_floats(column: pa.Array, target: Type, kind: pa.DataType) -> pa.Array | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if target in _FLOATS:
        return pc.cast(column, kind, safe=False)
    if target is Type.STRING:
        return None
    bits = max(BITS.get(target, 64), 32)
    limit = 2.0 ** (bits - 1)
    wide = column.cast(pa.float64())
    outside = pc.or_(pc.greater_equal(wide, limit), pc.less(wide, -limit))
    inside = pc.if_else(pc.or_(outside, pc.is_nan(wide)), 0.0, pc.trunc(wide))
    whole = pc.cast(inside, pa.int64())
    bound = pc.if_else(pc.greater(wide, 0.0), 2 ** (bits - 1) - 1, -(2 ** (bits - 1)))
    whole = pc.if_else(outside, bound, whole)
    return pc.not_equal(whole, 0) if target is Type.BOOLEAN else pc.cast(whole, kind, safe=False)


def _from_texts(column: pa.Array, target: Type, kind: pa.DataType) -> pa.Array | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if target is Type.BOOLEAN:
        return pc.equal(pc.utf8_lower(column), "true")
    pattern = _PLAIN_REAL if target in _FLOATS else _PLAIN_INTEGER
    if pc.all(pc.match_substring_regex(column, pattern)).as_py() is False:
        return None
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return None  # a value is out of range; casting the values one by one tells which


def _by_value(column: pa.Array, schema: Schema, target: Type, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    made: list[Any] = []
    rejected: dict[int, Exception] = {}
    for i, value in enumerate(column.to_pylist(maps_as_pydicts="strict")):
        try:
            made.append(cast_value(value, schema, target))
        except SchemaError as error:
            rejected[i] = error
    if rejected:
        raise RejectedRowsError(rejected)
    return pa.array(made, kind)
