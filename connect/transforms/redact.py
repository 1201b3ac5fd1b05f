"""Empties, masks or hashes fields whose names match, at any depth of structs, maps and arrays (Redact)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.lib.javatext.regex import compile_pattern
from connect.transforms.mask_field import empty_value
from connect.transforms.settings.extra_config import RedactConfig
from connect.transforms.structure.fields import map_rows
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import PerSchema, masked_by, struct_array

if TYPE_CHECKING:
    import pyarrow as pa

_NESTED = frozenset({Type.STRUCT, Type.MAP, Type.ARRAY})
_NO_FORM: Final = "A {} cannot be redacted as a whole."
_FIX: Final = "Name its members in fields, or use action=null."


class _Redact:
    """Empties, masks or hashes the fields whose names match. It is owned by one task thread."""

    def __init__(self, side: Side, config: RedactConfig) -> None:
        self._side = side
        self._patterns = [compile_pattern(f"(?i){pattern}") for pattern in config.fields]
        self._action = config.action
        self._replacement = config.replacement
        self._salt = b"" if config.salt is None else config.salt.get_secret_value().encode()
        self._schema_of = PerSchema(lambda schema: self._schema(schema, ""))
        self._matches: dict[str, bool] = {}
        whole = {"null": frozenset[Type](), "mask": frozenset({Type.STRUCT}), "hash": _NESTED}
        self._whole = whole[config.action]

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch with redacted fields; a field that does not match takes no time."""
        column = self._side.of(batch)
        schema = column.schema
        if schema is None:
            made = map_rows(column, None, lambda row, _: self._value(row, None, ""))
            return [self._side.put(batch, made)]
        redacted = self._schema_of(schema)
        if column.is_arrow:
            made = Column.from_arrow(self._array(column.arrow(), schema, redacted, ""), redacted)
        else:
            made = map_rows(column, redacted, lambda row, _: self._value(row, schema, ""))
        return [self._side.put(batch, made)]

    def _hits(self, path: str) -> bool:
        found = self._matches.get(path)
        if found is None:
            name = path.rpartition(".")[2]
            found = any(p.fullmatch(name) or p.fullmatch(path) for p in self._patterns)
            if len(self._matches) < 10_000:  # Maps may have any number of keys.
                self._matches[path] = found
        return found

    def _schema(self, schema: Schema, path: str) -> Schema:
        match schema.type:
            case Type.STRUCT:
                fields = [Field(f.name, self._member(f.schema, _below(path, f.name))) for f in schema.fields]
                return replace(schema, fields=tuple(fields), default=None)
            case Type.ARRAY if schema.items is not None:
                return replace(schema, items=self._schema(schema.items, path), default=None)
            case Type.MAP if schema.items is not None:
                # Keys of maps are data, so only the rows show which of them match.
                items = schema.items.as_optional() if self._action == "null" else self._schema(schema.items, path)
                return replace(schema, items=items, default=None)
        return schema

    def _member(self, schema: Schema, path: str) -> Schema:
        if not self._hits(path):
            return self._schema(schema, path)
        if schema.type in self._whole:
            raise SchemaError(_NO_FORM.format(schema.type), field=path, fix=_FIX)
        if self._action == "hash" and not _is_text(schema):
            return Schema(Type.STRING, optional=schema.optional, doc=schema.doc)
        return replace(schema, optional=schema.optional or self._action == "null", default=None)

    def _array(self, array: pa.Array, schema: Schema, made: Schema, path: str) -> pa.Array:
        if schema.type is Type.STRUCT:
            return self._struct(array, schema, made, path)
        if schema.type is Type.ARRAY and schema.items is not None and made.items is not None:
            import pyarrow as pa

            if schema.items.type not in _NESTED:
                return array
            items = self._array(array.flatten(), schema.items, made.items, path)
            offsets = _offsets(array)
            kind = pa.list_(pa.field("item", items.type, made.items.optional))
            return pa.ListArray.from_arrays(offsets, items, type=kind)
        if schema.type is Type.MAP:
            rows = Column.from_arrow(array, schema.as_optional()).rows()
            return Column.from_rows([self._value(row, schema, path) for row in rows], made.as_optional()).arrow()
        return array

    def _struct(self, array: pa.StructArray, schema: Schema, made: Schema, path: str) -> pa.StructArray:
        columns = []
        for i, (field, after) in enumerate(zip(schema.fields, made.fields, strict=True)):
            below = _below(path, field.name)
            # Arrow may hold any values below a null struct; they are no values, so nothing is redacted.
            child = masked_by(array.field(i), array)
            if self._hits(below):
                columns.append(self._redacted_column(child, field.schema, after.schema))
            else:
                columns.append(self._array(child, field.schema, after.schema, below))
        return struct_array(columns, made, array)

    def _redacted_column(self, column: pa.Array, schema: Schema, made: Schema) -> pa.Array:
        """Return the column with redacted values; each distinct value is redacted once."""
        import pyarrow as pa
        import pyarrow.types as t

        if self._action == "null":
            return pa.nulls(len(column), column.type)
        if self._action == "mask" and not t.is_list(column.type):
            return self._masked(column, schema, made)
        if t.is_nested(column.type) or t.is_decimal256(column.type):
            rows = Column.from_arrow(column, schema.as_optional()).rows()
            values = [None if row is None else self._redacted(row, schema) for row in rows]
            return Column.from_rows(values, made.as_optional()).arrow()
        encoded = column.dictionary_encode()
        distinct = Column.from_arrow(encoded.dictionary, schema).rows()
        redacted = Column.from_rows([self._redacted(value, schema) for value in distinct], made).arrow()
        return redacted.take(encoded.indices)

    def _masked(self, column: pa.Array, schema: Schema, made: Schema) -> pa.Array:
        """Return the column with the same masked value in place of every value; nulls stay."""
        import pyarrow.compute as pc

        present = pc.indices_nonzero(column.is_valid())
        if not len(present):
            return column
        sample = Column.from_arrow(column.slice(present[0].as_py(), 1), schema).rows()[0]
        either = Column.from_rows([self._redacted(sample, schema), None], made.as_optional()).arrow()
        return either.take(pc.if_else(column.is_valid(), 0, 1))

    def _value(self, value: Any, schema: Schema | None, path: str) -> Any:
        if isinstance(value, Mapping):
            return {
                name: self._member_value(member, schema, _below(path, str(name)), name)
                for name, member in value.items()
            }
        if isinstance(value, list | tuple):
            items = None if schema is None else schema.items
            return [self._value(item, items, path) for item in value]
        return value

    def _member_value(self, value: Any, schema: Schema | None, path: str, name: Any) -> Any:
        inside = None
        if schema is not None:
            inside = schema.field(name) if schema.type is Type.STRUCT else schema.items
        if not self._hits(path):
            return self._value(value, inside, path)
        return None if value is None or self._action == "null" else self._redacted(value, inside)

    def _redacted(self, value: Any, schema: Schema | None) -> Any:
        if self._action == "hash":
            return self._hash(value)
        if isinstance(value, str):
            return self._replacement
        if isinstance(value, bytes):
            return b""
        if isinstance(value, Decimal) and schema is not None:
            return Decimal(0).scaleb(-schema.decimal_scale)
        if schema is None and isinstance(value, Mapping):
            raise SchemaError(_NO_FORM.format("map"), fix=_FIX)
        return empty_value(value, schema)

    def _hash(self, value: Any) -> str:
        if isinstance(value, Mapping | list | tuple):
            raise SchemaError(_NO_FORM.format(type(value).__name__), fix=_FIX)
        data = value if isinstance(value, bytes) else str(value).encode()
        if self._salt:
            return hmac.new(self._salt, data, hashlib.sha256).hexdigest()
        return hashlib.sha256(data).hexdigest()


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_text(schema: Schema) -> bool:
    return schema.type is Type.STRING and schema.name is None


def _offsets(array: pa.ListArray) -> pa.Array:
    """Return offsets into `array.flatten()`, null where the list is null, as ListArray.from_arrays takes them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32())
    ends = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    if not array.null_count:
        return ends
    is_given = pa.concat_arrays([array.is_valid(), pa.array([True])])
    return pc.if_else(is_given, ends, None)


def key(config: RedactConfig) -> _Redact:
    """Return the transform Redact$Key."""
    return _Redact(Side.KEY, config)


def value(config: RedactConfig) -> _Redact:
    """Return the transform Redact$Value."""
    return _Redact(Side.VALUE, config)
