"""Columns of a batch by dotted path. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connect.api.errors import SchemaError
from connect.api.records import Batch

if TYPE_CHECKING:
    import pyarrow as pa


def field_column(batch: Batch, path: str) -> pa.Array:
    """The column of a field, null where a struct above it is null.

    In schemaless rows a field that no row has is a column of nulls; with a schema it is a SchemaError.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = batch.values.arrow()
    for name in path.split("."):
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            if batch.values.schema is None and len(batch.values) > 0:
                return pa.nulls(len(batch))
            raise SchemaError(
                f"The values of topic {batch.topic} have no such field.", field=path, fix="Name a field they have."
            )
        column = pc.struct_field(column, name)
    return column
