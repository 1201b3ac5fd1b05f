"""Takes structs of records apart and puts fields of them together, by the column. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Column

Chosen = Callable[[str], bool]
"""Tells by a field's name if it is written."""


def member(array: pa.StructArray, schema: s.Schema, name: str) -> pa.Array:
    """Return a field of structs, with null where the struct is null."""
    return pc.struct_field(array, [schema.field_index[name]])


def part_of(column: Column, schema: s.Schema, chosen: Chosen) -> Column:
    """Return structs with the chosen fields of the given ones; a null stays null."""
    kept = [field for field in schema.fields if chosen(field.name)]
    array = column.arrow()
    columns = [member(array, schema, field.name) for field in kept]
    return Column.from_arrow(structs(columns, kept, array.is_null()), replace(schema, fields=tuple(kept)))


def structs(columns: Sequence[pa.Array], fields: Sequence[s.Field], nulls: pa.BooleanArray) -> pa.StructArray:
    """Return structs of these columns; where `nulls` is true the struct is null."""
    if not columns:
        return pa.array([None if null else {} for null in nulls.to_pylist()], pa.struct([]))
    named = [pa.field(field.name, column.type) for field, column in zip(fields, columns, strict=True)]
    return pa.StructArray.from_arrays(list(columns), fields=named, mask=nulls)


def renamed(column: Column, schema: s.Schema, name_of: Callable[[str], str]) -> Column:
    """Return structs whose fields have other names. SchemaError: two of them get the same one."""
    fields = [s.Field(name_of(field.name), field.schema) for field in schema.fields]
    twice = sorted(name for name, count in Counter(field.name for field in fields).items() if count > 1)
    if twice:
        raise SchemaError(
            f"Two fields become column {', '.join(twice)}.", key="quote.identifiers",
            fix="Set quote.identifiers=true, which keeps the case of names, or leave one out.",
        )  # fmt: skip
    if all(new.name == old.name for new, old in zip(fields, schema.fields, strict=True)):
        return column
    array = column.arrow()
    columns = [member(array, schema, field.name) for field in schema.fields]
    return Column.from_arrow(structs(columns, fields, array.is_null()), replace(schema, fields=tuple(fields)))
