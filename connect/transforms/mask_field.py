"""Replaces fields by the empty value of their type or by a given replacement (MaskField). Nulls stay null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.api.schema import Field, Schema, Type
from connect.api.values.text import BITS
from connect.lib.javatext.numbers import parse_float32, wrapped
from connect.transforms.settings.config import MaskFieldConfig
from connect.transforms.structure.fields import FieldsTransform, each_column
from connect.transforms.structure.java_names import class_name
from connect.transforms.structure.nested import Nested, nested
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import column_of, members, plain_schema, value_of

if TYPE_CHECKING:
    import pyarrow as pa

_EMPTY = (
    (bool, False), (int, 0), (float, 0.0), (str, ""), (Decimal, Decimal(0)),
    (datetime, datetime(1970, 1, 1, tzinfo=UTC)), (date, date(1970, 1, 1)), (time, time()),
)  # fmt: skip


class _MaskField:
    def __init__(self, config: MaskFieldConfig, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._replacement = config.replacement
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        return schema

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return each_column(schema, lambda field: self._column(array, schema, field))

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, _made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        values = {field.name: value_of(row, field, default=self._default) for field in schema.fields}
        for field in schema.fields:
            if field.name in self._names:
                values[field.name] = self._masked(values[field.name], field.schema)
        return values

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        return {**row, **{name: self._masked(row.get(name), None) for name in self._names}}

    def whole_columns(self, array: pa.StructArray) -> dict[str, pa.Array] | None:
        made = members(array)
        for name in self._names:
            schema = plain_schema(made[name]) if name in made else None
            if schema is None:
                return None
            made[name] = self._masked_column(made[name], schema)
        return made

    def _column(self, array: pa.StructArray, schema: Schema, field: Field) -> pa.Array:
        column = column_of(array, schema, field, default=self._default)
        return self._masked_column(column, field.schema) if field.name in self._names else column

    def _masked_column(self, column: pa.Array, schema: Schema) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        present = pc.indices_nonzero(column.is_valid())
        if not len(present):
            return column
        sample = column[present[0].as_py()].as_py(maps_as_pydicts="strict")
        try:
            masked = pa.array([self._masked(sample, schema), None], column.type)
        except SchemaError as error:
            raise RejectedRowsError(dict.fromkeys(present.to_pylist(), error)) from error
        except (pa.ArrowInvalid, OverflowError) as error:
            wrong = SchemaError(f"The replacement {self._replacement} does not fit {column.type}: {error}")
            raise RejectedRowsError(dict.fromkeys(present.to_pylist(), wrong)) from error
        return masked.take(pc.if_else(column.is_valid(), 0, 1))

    def _masked(self, value: Any, schema: Schema | None) -> Any:
        if value is None:
            return None
        if self._replacement is None:
            return empty_value(value, schema)
        return _replaced(value, schema, self._replacement)


def empty_value(value: Any, schema: Schema | None) -> Any:
    """Return the empty value of a value's type. SchemaError: the type has none."""
    is_struct = schema is not None and schema.type is Type.STRUCT
    if isinstance(value, list | tuple):
        return []
    if isinstance(value, Mapping) and not is_struct:
        return {}
    for kind, empty in _EMPTY:
        if isinstance(value, kind):
            return empty
    raise SchemaError(f"Cannot mask value of type: class {class_name(value, schema)}")


def _replaced(value: Any, schema: Schema | None, replacement: str) -> Any:
    match value:
        case str():
            return replacement
        case bool():
            pass
        case int():
            return _whole(replacement, schema or s.INT64)
        case float():
            return _real(replacement, schema)
        case Decimal():
            return _decimal(replacement, "to number")
    raise SchemaError(f"Cannot mask value of type class {class_name(value, schema)} with custom replacement.")


def _whole(replacement: str, schema: Schema) -> int:
    """Return a whole number cut to the type's width, as Java's BigDecimal.longValue and the narrower casts do."""
    bits = BITS[schema.type]
    return wrapped(int(_decimal(replacement, "to a number")), bits)


def _real(replacement: str, schema: Schema | None) -> float:
    exact = _decimal(replacement, "to a number")
    narrow = schema is not None and schema.type is Type.FLOAT32
    return parse_float32(str(exact)) if narrow else float(exact)


def _decimal(replacement: str, target: str) -> Decimal:
    try:
        found = Decimal(replacement)
    except InvalidOperation:
        raise _unfit(replacement, target) from None
    if not found.is_finite() or "_" in replacement:
        raise _unfit(replacement, target)
    return found


def _unfit(replacement: str, target: str) -> SchemaError:
    return SchemaError(f"Unable to convert {replacement} (class java.lang.String) {target}")


def _transform(side: Side, config: MaskFieldConfig) -> FieldsTransform | Nested:
    def of(names: Iterable[str]) -> FieldsTransform:
        return FieldsTransform(side, "mask fields", _MaskField(config, names), nulls=False)

    return nested(side, config.fields, of) if config.nested else of(config.fields)


def key(config: MaskFieldConfig) -> FieldsTransform | Nested:
    """Return the transform MaskField$Key."""
    return _transform(Side.KEY, config)


def value(config: MaskFieldConfig) -> FieldsTransform | Nested:
    """Return the transform MaskField$Value."""
    return _transform(Side.VALUE, config)
