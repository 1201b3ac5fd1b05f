"""Finds columns of a batch by dotted path. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connectors.s3.paths.refused_field import refusal

if TYPE_CHECKING:
    import pyarrow as pa


def field_column(batch: Batch, path: str) -> pa.Array:
    """Return the column of a field, null where a struct above it is null.

    If rows have no schema, a field that no row has is a column of nulls. SchemaError: the field's values have no common
    type; the types of other fields do not matter. If rows have a schema without the field, every row is refused.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    names = path.split(".")
    if batch.values.schema is None and not batch.values.is_arrow:
        return _column_of_rows(batch, names)
    column = batch.values.arrow()
    for name in names:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            if batch.values.schema is None and len(batch.values) > 0:
                return pa.nulls(len(batch))
            missing = SchemaError(
                f"The values of topic {batch.topic} have no such field.", field=path, fix="Name a field they have."
            )
            raise refusal(batch, missing)
        column = pc.struct_field(column, name)
    # The column is made from this field alone: in the batch other values may have made its whole numbers doubles.
    return _column_of_rows(batch, names) if batch.values.schema is None and t.is_floating(column.type) else column


def rows_without(batch: Batch, path: str, column: pa.Array) -> list[int]:
    """Return the numbers of rows without a schema that lack the field of this column, ascending.

    A row whose field, or a struct above it, is null does not count. Arrow has the same null for both, so rows with a
    null are looked at one by one.
    """
    import pyarrow.compute as pc

    if batch.values.schema is not None or not column.null_count:
        return []
    names = path.split(".")
    nulls = pc.indices_nonzero(column.is_null()).to_pylist()
    return [row for row, value in zip(nulls, _values(batch.values, nulls), strict=True) if _lacks(value, names)]


def _values(column: Column, rows: Sequence[int]) -> list[Any]:
    """Return some rows of a column. If they are JSON, only these rows are parsed."""
    texts = column.json_texts()
    if texts is not None:
        # orjson is not used, as it refuses numbers like 1e999, which converters accept.
        return [json.loads(text) for text in texts.take(rows).fill_null(b"null").to_pylist()]
    values = column.rows()
    return [values[row] for row in rows]


def _lacks(value: Any, names: Sequence[str]) -> bool:
    for name in names:
        if value is None:
            return False
        if not isinstance(value, dict) or name not in value:
            return True
        value = value[name]
    return False


def _column_of_rows(batch: Batch, names: Sequence[str]) -> pa.Array:
    return Column.from_rows([_member(row, names) for row in batch.values.rows()], None).arrow()


def _member(row: Any, names: Sequence[str]) -> Any:
    for name in names:
        row = row.get(name) if isinstance(row, dict) else None
    return row
