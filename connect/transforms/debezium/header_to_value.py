"""Puts headers into fields of the value, also into nested ones (io.debezium.transforms.HeaderToValue).

Source of the rules: Debezium 3's documentation and what its class does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from connect.api.arrow import connect_schema
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Header
from connect.api.schema import Field, Schema
from connect.transforms.settings.debezium_config import HeaderToValueConfig
from connect.transforms.structure.java_names import class_name
from connect.transforms.structure.sides import null_rows
from connect.transforms.structure.structs import is_struct, masked_by, rebuilt, struct_array

if TYPE_CHECKING:
    import pyarrow as pa

Path = tuple[str, ...]
Shape = tuple[tuple[str, Schema], ...]
"""Holds the headers of one row that become fields, each with its schema."""


class HeaderToValue:
    """Adds fields with the values of headers. It is owned by one task thread."""

    def __init__(self, config: HeaderToValueConfig) -> None:
        self._paths = {
            header: tuple(field.split(".")) for header, field in zip(config.headers, config.fields, strict=True)
        }
        self._moves = config.operation == "move"

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch in runs of rows with the same headers; rows without any of these headers, and tombstones,
        stay.
        """
        if batch.headers is None:
            return [batch]
        nulls = frozenset(null_rows(batch.values))
        found = [{} if i in nulls else self._found(row) for i, row in enumerate(batch.headers)]
        if not any(found):
            return [batch]
        self._require_structs(batch, found)
        shapes: list[Shape] = [tuple((h.key, _schema(h)) for h in row.values()) for row in found]
        made, start = [], 0
        for shape, rows in groupby(shapes):
            stop = start + len(list(rows))
            part = batch if stop - start == len(batch) else batch.slice(start, stop)
            made.append(self._made(part, shape, found[start:stop]) if shape else part)
            start = stop
        return made

    def _found(self, headers: Sequence[Header]) -> dict[str, Header]:
        """Return the row's headers that become fields, in the order of the configuration; of several of one name the
        last.
        """
        by_name = {header.key: header for header in headers if header.key in self._paths}
        return {name: by_name[name] for name in self._paths if name in by_name}

    def _require_structs(self, batch: Batch, found: Sequence[Mapping[str, Header]]) -> None:
        if is_struct(batch.values.schema):
            return
        rows = batch.values.rows()
        text = "Only Struct objects supported for [Header field insertion], found: {}"
        raise RejectedRowsError(
            {
                i: SchemaError(text.format(class_name(rows[i], batch.values.schema)))
                for i, row in enumerate(found)
                if row
            }
        )

    def _made(self, batch: Batch, shape: Shape, found: Sequence[Mapping[str, Header]]) -> Batch:
        import pyarrow as pa

        array, schema = batch.values.arrow(), batch.values.schema
        assert schema is not None
        for name, of_header in shape:
            values = [row[name].value for row in found]
            field = Field(name, of_header.as_optional(of_header.optional or None in values))
            column = Column.from_rows(values, field.schema).arrow()
            assert isinstance(array, pa.StructArray)
            array, schema = _with_field(array, schema, self._paths[name], field, column)
        assert batch.headers is not None
        headers = batch.headers
        if self._moves:
            headers = [[header for header in row if header.key not in self._paths] for row in headers]
        return replace(batch, values=Column.from_arrow(array, schema), headers=headers)


def _schema(header: Header) -> Schema:
    """Return the header's schema; it is derived from the value if the header has none."""
    if header.schema is not None:
        return header.schema
    import pyarrow as pa

    return connect_schema(pa.array([header.value]).type)


def _with_field(
    array: pa.StructArray, schema: Schema, path: Path, field: Field, column: pa.Array
) -> tuple[pa.StructArray, Schema]:
    """Return structs with a field set at a path. They stay as they are if the parent is null, or if it is no struct.

    An existing field gets the header's value and keeps its schema. As in Java the structs become required, except for
    parents that may be null.
    """
    name, below = path[0], path[1:]
    columns = [array.field(i) for i in range(len(schema.fields))]
    inside = schema.field(name)
    if not below and inside is None:
        made = rebuilt(schema, [*schema.fields, Field(name, field.schema)])
        return struct_array([*columns, column], made, array), made
    if inside is None:
        return array, schema
    at = schema.field_index[name]
    if not below:
        if (inside.type, inside.name) != (field.schema.type, field.schema.name):
            raise SchemaError(
                f"Header {field.name} has the type {field.schema.name or field.schema.type}, and field {name} "
                f"{inside.name or inside.type}.",
                field=name,
            )
        columns[at] = column
        made = rebuilt(schema, schema.fields)
        return struct_array(columns, made, array), made
    if not is_struct(inside):
        raise SchemaError(f"Only Struct objects supported for [Nested field], found: {inside.type}", field=name)
    child = masked_by(columns[at], array)
    columns[at], changed = _with_field(child, inside, below, field, column)
    changed = changed.as_optional(inside.optional)
    made = rebuilt(schema, [Field(name, changed) if f.name == name else f for f in schema.fields])
    return struct_array(columns, made, array), made
