"""Reads JSON texts of one schema, one per row, into an Arrow column without a Python object per row.

Arrow's JSON reader does the work that the native code leaves: it rejects wrong types, numbers out of range and a field
given twice. What it takes but Connect does not is checked here. NotColumnarError means "not proven exact": the row path
then decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from connect import native
from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.schema import Schema, Type
from connect.convert.json.read import Reading
from connect.convert.plain.columns import NotColumnarError, bytes_of, decimals_of, list_of, struct_of

_PREFIX, _SUFFIX, _NULL = b'{"v":', b"}\n", b"null"
_DAY_MS = 86_400_000
_MAX_DEPTH = 500
_HAS_EXPONENT = r"[0-9][eE][+-]?[0-9]"
_OPENERS = frozenset(b"{[")
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_WIRE = {Type.STRING: pa.utf8(), Type.BYTES: pa.utf8(), Type.BOOLEAN: pa.bool_(), Type.FLOAT32: pa.float32(),
         Type.FLOAT64: pa.float64(), Type.INT8: pa.int8(), Type.INT16: pa.int16(), Type.INT32: pa.int32(),
         Type.INT64: pa.int64()}  # fmt: skip
_LOGICAL_WIRE = {
    s.DATE: (Type.INT32, pa.date32()), s.TIME: (Type.INT32, pa.time32("ms")), s.TIMESTAMP: (Type.INT64, pa.int64()),
}  # fmt: skip


class Decimals(Enum):
    """Tells how the decimals of a batch are parsed."""

    BASE64 = auto()
    NUMERIC = auto()
    PROVEN = auto()
    """Decimals are parsed as doubles, only to prove that all of them are numbers."""


def decode_columns(data: pa.BinaryArray, schema: Schema, reading: Reading) -> pa.Array:
    """Return the rows as an array of `arrow_type(schema)`; null bytes give a null row."""
    try:
        return _decode(data, schema, reading, Decimals.BASE64)
    except NotColumnarError:
        # Java keeps the scale that a decimal is written with, which a column has no place for.
        if reading.java or not _has_decimal(schema):
            raise
    if pc.any(pc.match_substring_regex(data, _HAS_EXPONENT)).as_py():
        # Arrow 26 crashes on the decimal 1e-999999999.
        raise NotColumnarError("a number with an exponent")
    # As a decimal the reader also takes the text of a number, which Connect reads as base64; as a double it takes none.
    _parsed(data, wire_type(schema, Decimals.PROVEN))
    return _decode(data, schema, reading, Decimals.NUMERIC)


def _decode(data: pa.BinaryArray, schema: Schema, reading: Reading, decimals: Decimals) -> pa.Array:
    values = _parsed(data, wire_type(schema, decimals))
    # A JSON null of a whole row is an error or a default unless the schema is simply optional.
    has_default = schema.default is not None and reading.replace_null_with_default
    if values.null_count > data.null_count and (has_default or not schema.optional):
        raise NotColumnarError("null for a required value")
    return _finish(values, schema, reading)


def _parsed(data: pa.BinaryArray, wire: Any) -> pa.Array:
    objects = native.decode_json(data, wire)
    return read_values(data, wire) if objects is None else objects


def read_values(data: pa.BinaryArray, wire: Any | None) -> pa.Array:
    """Return the parsed rows, of the type `wire` as far as it is given, otherwise inferred.

    Every row is wrapped in an object on a line of its own: a line then holds whole objects only, as neither a string
    nor an open bracket can go on after its closing brace; as many objects as rows proves one value per row.
    """
    _check_depth(data)
    filled = pc.fill_null(data, _NULL) if data.null_count else data
    lines = pc.binary_join_element_wise(pa.scalar(_PREFIX), filled, pa.scalar(_SUFFIX), pa.scalar(b""))
    try:
        text = pa.Array.from_buffers(pa.utf8(), len(lines), lines.buffers())
        text.validate(full=True)
        buffer = _values_buffer(lines)
        table = pj.read_json(
            pa.BufferReader(buffer),
            read_options=pj.ReadOptions(use_threads=False, block_size=buffer.size + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=None if wire is None else pa.schema([("v", wire)]), unexpected_field_behavior="infer"
            ),
        )
        # The items of list<null> may be shorter than its offsets say (seen with Arrow 26).
        table.validate(full=_has_list_of_null(table.schema))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise NotColumnarError(str(error)) from error
    if table.num_rows != len(data) or table.column_names != ["v"]:
        raise NotColumnarError("not one value per row")
    return table.column(0).combine_chunks()


def _check_depth(data: pa.BinaryArray) -> None:
    """Raise NotColumnarError for a row that is nested too deeply.

    Arrow builds nested types by recursion in C++: one message nested 50 000 deep would end the process.
    """
    long = data.filter(pc.greater(pc.binary_length(data), 2 * _MAX_DEPTH))
    # A loop over long rows: bytes.count is several times as fast as Arrow's count_substring.
    for row in long.to_pylist():
        if row.count(b"{") + row.count(b"[") > _MAX_DEPTH and _depth(row) > _MAX_DEPTH:
            raise NotColumnarError("nested too deeply")


def _depth(text: bytes) -> int:
    """Return an upper bound of how deep a JSON text is nested: brackets inside strings count too."""
    brackets = text.translate(None, _NO_BRACKETS)
    return max(accumulate(1 if byte in _OPENERS else -1 for byte in brackets))


def _values_buffer(lines: pa.BinaryArray) -> pa.Buffer:
    offsets = pa.Array.from_buffers(pa.int32(), len(lines) + 1, [None, lines.buffers()[1]])
    return lines.buffers()[2].slice(0, offsets[len(lines)].as_py())


def _has_list_of_null(types: Iterable[pa.Field]) -> bool:
    return any(
        pa.types.is_nested(field.type)
        and (
            (pa.types.is_list(field.type) and pa.types.is_null(field.type.value_type))
            or _has_list_of_null(field.type.field(i) for i in range(field.type.num_fields))
        )
        for field in types
    )


def _has_decimal(schema: Schema) -> bool:
    inner = [field.schema for field in schema.fields] + ([schema.items] if schema.items is not None else [])
    return schema.name == s.DECIMAL or any(map(_has_decimal, inner))


def wire_type(schema: Schema, decimals: Decimals) -> Any:
    """Return the type the reader parses for a schema. NotColumnarError when it has none that is strict enough."""
    if schema.name == s.DECIMAL and schema.type is Type.BYTES:
        return {Decimals.BASE64: pa.utf8(), Decimals.PROVEN: pa.float64()}.get(decimals) or arrow_type(schema)
    if schema.name in _LOGICAL_WIRE:
        base, wire = _LOGICAL_WIRE[schema.name]
        if schema.type is base:
            return wire
        raise NotColumnarError("logical type on another base type")
    if schema.name == s.RECURSIVE:
        raise NotColumnarError("a type that holds itself")
    match schema.type:
        case Type.STRUCT:
            if not schema.fields:
                raise NotColumnarError("empty struct")
            return pa.struct([(f.name, wire_type(f.schema, decimals)) for f in schema.fields])
        case Type.ARRAY:
            assert schema.items is not None
            return pa.list_(wire_type(schema.items, decimals))
        case Type.MAP:
            raise NotColumnarError("map")
    return _WIRE[schema.type]


def _finish(array: pa.Array, schema: Schema, reading: Reading) -> pa.Array:
    match schema.name:
        case s.DECIMAL:
            return array if pa.types.is_decimal(array.type) else decimals_of(bytes_of(array), arrow_type(schema))
        case s.DATE:
            return array
        case s.TIME:
            span = pc.min_max(array.cast(pa.int32()))
            if array.null_count < len(array) and not 0 <= span["min"].as_py() <= span["max"].as_py() < _DAY_MS:
                raise NotColumnarError("time out of range")
            return array
        case s.TIMESTAMP:
            return array.cast(pa.timestamp("ms", tz="UTC"))
    match schema.type:
        case Type.STRUCT:
            return _finish_struct(array, schema, reading)
        case Type.ARRAY:
            assert schema.items is not None
            items = array.flatten()
            _check_nulls(items, schema.items, 0, reading)
            return list_of(array, _finish(items, schema.items, reading), arrow_type(schema).value_field)
        case Type.BYTES:
            return bytes_of(array)
        case Type.FLOAT32 | Type.FLOAT64:
            check_finite(array)
            return without_negative_zero(array) if reading.java else array
    return array


def _finish_struct(array: pa.StructArray, schema: Schema, reading: Reading) -> pa.Array:
    places = {array.type.field(i).name: i for i in range(array.type.num_fields)}
    children = array.flatten()
    finished = []
    for field in schema.fields:
        child = children[places[field.name]]
        _check_nulls(child, field.schema, array.null_count, reading)
        finished.append(_finish(child, field.schema, reading))
    return struct_of(array, finished, list(arrow_type(schema)))


def _check_nulls(child: pa.Array, schema: Schema, parent_nulls: int, reading: Reading) -> None:
    has_default = schema.default is not None and reading.replace_null_with_default
    if (has_default or not schema.optional) and child.null_count > parent_nulls:
        raise NotColumnarError("null in a required field or one with a default")


def without_negative_zero(array: pa.Array) -> pa.Array:
    """Return the numbers as Java reads them.

    A BigDecimal has no sign of zero, but a number too small for 32 bits keeps its own: for it NotColumnarError.
    """
    if array.type == pa.float32() and pc.any(pc.equal(array.view(pa.int32()), -(2**31))).as_py():
        raise NotColumnarError("a negative number that is zero in 32 bits")
    return pc.add(array, pa.scalar(0.0, array.type))


def check_finite(array: pa.Array) -> None:
    """Raise NotColumnarError for a number that is not finite.

    The reader takes a bare NaN, which is no JSON, and makes Infinity of a number too big.
    """
    if pc.all(pc.is_finite(array)).as_py() is False:
        raise NotColumnarError("a number that is not finite")
