"""Moves or copies fields into headers (HeaderFrom)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Header
from connect.api.schema import Field, Schema, Type
from connect.transforms.extract_field import extract
from connect.transforms.settings.config import HeaderFromConfig
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.nested import Nested, by_parent
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import column_of, rebuilt, value_of

if TYPE_CHECKING:
    import pyarrow as pa


class _WithoutFields:
    """Rebuilds structs and maps without some fields."""

    def __init__(self, config: HeaderFromConfig, names: Iterable[str]) -> None:
        self._gone = frozenset(names) if config.operation == "move" else frozenset()
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        return rebuilt(schema, self._kept(schema)) if self._gone else schema

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return [column_of(array, schema, field, default=self._default) for field in self._kept(schema)]

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, _made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return {field.name: value_of(row, field, default=self._default) for field in self._kept(schema)}

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        return {name: value for name, value in row.items() if name not in self._gone}

    def _kept(self, schema: Schema) -> list[Field]:
        return [field for field in schema.fields if field.name not in self._gone]


class _HeaderFrom:
    def __init__(self, side: Side, config: HeaderFromConfig) -> None:
        self._side = side
        self._pairs = list(zip(config.fields, config.headers, strict=True))
        self._default = config.replace_null
        self._copies = config.operation == "copy"
        purpose = f"header {config.operation}"
        self._nested = config.nested

        def of(names: Iterable[str]) -> FieldsTransform:
            return FieldsTransform(side, purpose, _WithoutFields(config, names), nulls=False)

        # The top level is always processed, as a null there is an error.
        parents = {(): of(()), **{parent: of(own) for parent, own in by_parent(config.fields).items()}}
        self._rest: FieldsTransform | Nested = Nested(side, parents) if self._nested else of(config.fields)

    def apply(self, batch: Batch) -> list[Batch]:
        column = self._side.of(batch)
        (made,) = self._rest.apply(batch)
        added = zip(*(self._headers(column, field, header) for field, header in self._pairs), strict=True)
        before = batch.headers if batch.headers is not None else [()] * len(batch)
        headers = [(*old, *new) for old, new in zip(before, added, strict=True)]
        return [replace(batch if self._copies else made, headers=headers)]

    def _headers(self, column: Column, field: str, header: str) -> list[Header]:
        """Return the header of each row. A header is a Python object in every batch, so they are made row by row."""
        if self._nested:
            found_column = extract(column, field, "V2", default=self._default)
            return [Header(header, value, found_column.schema) for value in found_column.rows()]
        schema = column.schema
        if schema is None or schema.type is not Type.STRUCT:
            return [Header(header, row.get(field)) for row in column.rows()]
        found = schema.field(field)
        if found is None:
            raise SchemaError(f"Unknown field: {field}")
        member = Field(field, found)
        if column.is_arrow:
            children = column_of(column.arrow(), schema, member, default=self._default)
            return [Header(header, value, found) for value in Column.from_arrow(children, found).rows()]
        return [Header(header, value_of(row, member, default=self._default), found) for row in column.rows()]


def key(config: HeaderFromConfig) -> _HeaderFrom:
    """Return the transform HeaderFrom$Key."""
    return _HeaderFrom(Side.KEY, config)


def value(config: HeaderFromConfig) -> _HeaderFrom:
    """Return the transform HeaderFrom$Value."""
    return _HeaderFrom(Side.VALUE, config)
