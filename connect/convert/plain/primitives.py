"""Converts columns as Kafka Connect's number converters and BooleanConverter do: fixed width, big-endian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.plain.config import NoConfig
from connect.convert.plain.header import ColumnHeaderConverter
from connect.convert.plain.rows import each

_TRUE, _FALSE = b"\x01", b"\x00"


class PrimitiveConverter:
    """Converts one primitive type to its fixed number of bytes; reads it as optional. Owned by one task thread."""

    def __init__(self, name: str, schema: Schema) -> None:
        self._name = name
        self._schema = schema.as_optional()
        self._type = arrow_type(schema)
        self._width = 1 if schema is s.BOOLEAN else self._type.byte_width

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:  # noqa: ARG002 - of the protocol
        """Return the bytes of every row. Raise SchemaError for a column of another type: Java widens nothing."""
        schema = column.schema
        if schema is not None and (schema.type is not self._schema.type or (schema.name or "").startswith(s.LOGICAL)):
            raise SchemaError(f"Failed to serialize to {self._name}: the schema is {schema.name or schema.type}.")
        if column.is_arrow and column.arrow().type.equals(self._type):
            return self._to_bytes(column.arrow())
        return self._to_bytes(pa.array(each(column.rows(), self._checked), self._type))

    def decode(self, topic: str, data: pa.BinaryArray) -> Sequence[Column]:  # noqa: ARG002 - of the protocol
        """Return one column of the optional type. Raise RejectedRowsError naming rows of another length."""
        wrong = pc.fill_null(pc.not_equal(pc.binary_length(data), self._width), False)
        self._reject(wrong, f"Failed to deserialize {self._name}: size of data received is not {self._width}")
        return [Column.from_arrow(self._from_bytes(data), self._schema)]

    def _checked(self, value: Any) -> Any:
        try:
            scalar = pa.scalar(value, self._type)
            lossless = type(value) in _ACCEPTED[self._schema.type]
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            lossless, scalar = False, None
        if not lossless or scalar is None:
            raise SchemaError(f"Failed to serialize to {self._name} (was {type(value).__name__} {value!r:.40})")
        return value

    def _to_bytes(self, array: pa.Array) -> pa.BinaryArray:
        if self._schema.type is s.Type.BOOLEAN:
            return pc.if_else(array, pa.scalar(_TRUE), pa.scalar(_FALSE))
        fixed = array.view(pa.binary(self._width))
        return pc.binary_reverse(fixed.cast(pa.binary()))

    def _from_bytes(self, data: pa.BinaryArray) -> pa.Array:
        if self._schema.type is s.Type.BOOLEAN:
            unknown = pc.fill_null(pc.invert(pc.is_in(data, pa.array([_TRUE, _FALSE], pa.binary()))), False)
            self._reject(pc.and_(unknown, data.is_valid()), "Failed to deserialize boolean: unexpected byte")
            return pc.equal(data, pa.scalar(_TRUE))
        filled = pc.binary_reverse(pc.fill_null(data, b"\x00" * self._width))
        values = pa.Array.from_buffers(self._type, len(data), [None, filled.buffers()[2]])
        return pc.if_else(data.is_valid(), values, pa.scalar(None, self._type)) if data.null_count else values

    def _reject(self, wrong: pa.BooleanArray, message: str) -> None:
        rows = pc.indices_nonzero(wrong).to_pylist()
        if rows:
            raise RejectedRowsError({row: SchemaError(message) for row in rows})


_ACCEPTED: dict[s.Type, frozenset[type]] = {
    s.Type.BOOLEAN: frozenset({bool}), s.Type.INT16: frozenset({int}), s.Type.INT32: frozenset({int}),
    s.Type.INT64: frozenset({int}), s.Type.FLOAT32: frozenset({float}), s.Type.FLOAT64: frozenset({float}),
}  # fmt: skip

ConverterFactory = Callable[..., PrimitiveConverter]
HeaderFactory = Callable[..., ColumnHeaderConverter]


def _factory(name: str, schema: Schema) -> ConverterFactory:
    def make(config: NoConfig, *, is_key: bool = False) -> PrimitiveConverter:  # noqa: ARG001 - no settings
        return PrimitiveConverter(name, schema)

    return make


def _header_factory(make: ConverterFactory) -> HeaderFactory:
    def make_header(config: NoConfig, *, is_key: bool = False) -> ColumnHeaderConverter:
        return ColumnHeaderConverter(make(config, is_key=is_key))

    return make_header


boolean, short = _factory("boolean", s.BOOLEAN), _factory("short", s.INT16)
integer, long = _factory("integer", s.INT32), _factory("long", s.INT64)
float32, float64 = _factory("float", s.FLOAT32), _factory("double", s.FLOAT64)
boolean_header, short_header = _header_factory(boolean), _header_factory(short)
integer_header, long_header = _header_factory(integer), _header_factory(long)
float32_header, float64_header = _header_factory(float32), _header_factory(float64)
