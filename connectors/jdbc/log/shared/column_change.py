"""Defines how events show a column in another form: masked, hashed, cut off, or by another name. Pure.

The record key keeps the real values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow as pa

from connect.api.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """Changes one column: `parameters` are added to its schema, and `shown` makes the values that events have.

    `name` is the field's name in records, or empty if that is the column's.
    """

    parameters: Mapping[str, str]
    shown: Callable[[pa.Array], pa.Array]
    name: str = ""

    def schema_of(self, schema: Schema) -> Schema:
        """Return the column's schema in the events."""
        return replace(schema, parameters=MappingProxyType({**schema.parameters, **self.parameters}))


ColumnChanges = Mapping[str, ColumnChange]
"""Holds the changes by the column's name."""


def renamed(change: ColumnChange | None, column: str, name: str) -> ColumnChange | None:
    """Return the change of a column whose field has this name, too."""
    if name == column:
        return change
    return ColumnChange({}, _as_it_is, name) if change is None else replace(change, name=name)


def name_of(column: str, changes: ColumnChanges) -> str:
    """Return the name of a column's field in records."""
    change = changes.get(column)
    return column if change is None else change.name or column


def _as_it_is(values: pa.Array) -> pa.Array:
    return values


def changed_row(row: Schema, changes: ColumnChanges) -> Schema:
    """Return the schema that a row has in the events."""
    if not changes:
        return row
    fields = (
        Field(name_of(f.name, changes), changes[f.name].schema_of(f.schema)) if f.name in changes else f
        for f in row.fields
    )
    return replace(row, fields=tuple(fields))


def changed_texts(texts: Mapping[str, str | None], row: Schema, changes: ColumnChanges) -> dict[str, str | None]:
    """Return a row that no record can hold, as texts by column, as events would show it: without the columns that
    `row`, the schema of events, does not have.
    """
    kept = {field.name for field in row.fields}
    return {
        name: changes[name].shown(pa.array([text], pa.string()))[0].as_py() if name in changes else text
        for name, text in texts.items()
        if name in kept
    }


def changed_rows(rows: pa.StructArray, changes: ColumnChanges) -> pa.StructArray:
    """Return rows as the events have them; a row that is null stays so."""
    if not changes:
        return rows
    fields = list(rows.type)
    arrays = [
        changes[field.name].shown(array) if field.name in changes else array
        for field, array in zip(fields, rows.flatten(), strict=True)
    ]
    mask = rows.is_null() if rows.null_count else None
    named = [field.with_name(name_of(field.name, changes)) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=named, mask=mask)
