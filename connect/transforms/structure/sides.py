"""Tells which side of a record a transform changes: its key or its value. Pure."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from connect.api.records import Batch, Column


class Side(Enum):
    """Names the side of a record that is changed: key or value."""

    KEY = "Key"
    VALUE = "Value"

    def of(self, batch: Batch) -> Column:
        """Return the column of this side; absent keys are schemaless nulls."""
        if self is Side.VALUE:
            return batch.values
        return batch.keys if batch.keys is not None else Column.nulls(len(batch))

    def put(self, batch: Batch, column: Column) -> Batch:
        """Return the batch with another column on this side."""
        return replace(batch, values=column) if self is Side.VALUE else replace(batch, keys=column)


def null_rows(column: Column) -> list[int]:
    """Return the rows that are null."""
    if not column.is_arrow:
        return [i for i, row in enumerate(column.rows()) if row is None]
    import pyarrow.compute as pc

    array = column.arrow()
    if not array.null_count:
        return []
    nulls: list[int] = pc.indices_nonzero(array.is_null()).to_pylist()
    return nulls
