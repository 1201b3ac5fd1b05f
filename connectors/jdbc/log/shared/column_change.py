"""Defines how events show a column in another form: masked, hashed or cut off. The record key keeps the real values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow as pa

from connect.api.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """Changes one column: `parameters` are added to its schema, and `shown` makes the values that events have."""

    parameters: Mapping[str, str]
    shown: Callable[[pa.Array], pa.Array]

    def schema_of(self, schema: Schema) -> Schema:
        """Return the column's schema in the events."""
        return replace(schema, parameters=MappingProxyType({**schema.parameters, **self.parameters}))


ColumnChanges = Mapping[str, ColumnChange]
"""Holds the changes by the column's name."""


def changed_row(row: Schema, changes: ColumnChanges) -> Schema:
    """Return the schema that a row has in the events."""
    if not changes:
        return row
    fields = (Field(f.name, changes[f.name].schema_of(f.schema)) if f.name in changes else f for f in row.fields)
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
    if not changes or not len(rows):
        return rows
    fields = list(rows.type)
    arrays = [
        changes[field.name].shown(array) if field.name in changes else array
        for field, array in zip(fields, rows.flatten(), strict=True)
    ]
    mask = rows.is_null() if rows.null_count else None
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)
