"""Chooses the fields of values that a file gets, and the schema in which it gets them: theirs or the file's. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connectors.s3.formats.compatibility import COMPATIBILITIES, Compatibility, projected


@dataclass(frozen=True, slots=True)
class Shape:
    """Holds the settings for the fields and the schema of values.

    `dropped` are fields of the topmost struct that files leave out, as the path tells their values.
    """

    dropped: frozenset[str] = frozenset()
    compatibility: Compatibility = COMPATIBILITIES["NONE"]

    def schema_behind(self, given: s.Schema | None, current: s.Schema | None) -> s.Schema | None:
        """Return the schema for values with the schema `given` after rows in `current`.

        Return None if they have no schema.
        """
        return self.compatibility.target(given, current)

    def shaped(self, batch: Batch, current: s.Schema | None) -> Batch:
        """Return the batch as it is written after rows in the schema `current`.

        RejectedRowsError: its schema does not fit.
        """
        values = batch.values
        try:
            target = self.compatibility.target(values.schema, current)
            if target is not None:
                values = projected(values, target)
        except SchemaError as error:
            raise RejectedRowsError(dict.fromkeys(range(len(batch)), error)) from error
        if self.dropped:
            values = without_fields(values, self.dropped)
        return batch if values is batch.values else replace(batch, values=values)


def without_fields(column: Column, names: Collection[str]) -> Column:
    """Return the values without these fields; values that are no structs stay as they are."""
    schema = column.schema
    if schema is None:
        arrow = (lambda: _without_columns(column.arrow(), names)) if column.is_arrow else None
        return Column(None, len(column), arrow=arrow, rows=lambda: _rows(column, names), is_whole=column.is_whole)
    if schema.type is not s.Type.STRUCT:
        return column
    kept = replace(schema, fields=tuple(field for field in schema.fields if field.name not in names))
    return Column(kept, len(column), arrow=lambda: _without_columns(column.arrow(), names))


def _rows(column: Column, names: Collection[str]) -> list[Any]:
    return [
        {name: member for name, member in row.items() if name not in names} if isinstance(row, dict) else row
        for row in column.rows()
    ]


def _without_columns(array: Any, names: Collection[str]) -> Any:
    import pyarrow as pa

    if not pa.types.is_struct(array.type):
        return array
    kept = [(field, child) for field, child in zip(array.type, array.flatten(), strict=True) if field.name not in names]
    mask = array.is_null() if array.null_count else None
    if not kept:
        return pa.array([{}] * len(array), pa.struct([]), mask=None if mask is None else mask.to_numpy(False))
    return pa.StructArray.from_arrays([child for _, child in kept], fields=[field for field, _ in kept], mask=mask)
