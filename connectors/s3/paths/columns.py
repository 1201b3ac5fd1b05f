"""Find columns of a batch by dotted path. Pure."""

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

    In schemaless rows a field that no row has is a column of nulls, and what other fields hold does not matter; they
    raise SchemaError where this field has no one type. With a schema a field that is not there refuses every row.
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
    # A whole number is a double, and a null is typed, only because of what stands beside it.
    return _column_of_rows(batch, names) if batch.values.schema is None and t.is_floating(column.type) else column


def rows_without(batch: Batch, path: str, column: pa.Array) -> list[int]:
    """Return the schemaless rows that lack the field of this column, ascending; a null there, or above it, is no lack.

    Arrow's form does not tell both apart, so rows without a value are looked at one by one.
    """
    import pyarrow.compute as pc

    if batch.values.schema is not None or not column.null_count:
        return []
    names = path.split(".")
    nulls = pc.indices_nonzero(column.is_null()).to_pylist()
    return [row for row, value in zip(nulls, _values(batch.values, nulls), strict=True) if _lacks(value, names)]


def _values(column: Column, rows: Sequence[int]) -> list[Any]:
    """Return some rows; of JSON no others are parsed."""
    texts = column.json_texts()
    if texts is not None:
        # orjson refuses numbers like 1e999, which converters take.
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
