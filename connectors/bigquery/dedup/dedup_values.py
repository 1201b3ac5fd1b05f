"""Reads the values of the fields that dedup compares, and names the columns that it adds for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.bigquery.dedup.rules import CLEARS, LATE, SOFT_DELETED, DedupColumns, DedupRules, Deletes
from connectors.bigquery.rows.paths import Found, Path, Root, find, schema_of
from connectors.bigquery.rows.table_schema import NULLABLE, Columns, ColumnSchema, ColumnType
from connectors.bigquery.rows.types import TypeRules, column_of

if TYPE_CHECKING:
    import pyarrow as pa


class MisfitError(SchemaError):
    """Says that a value which dedup compares does not fit its column; the values of other records may fit."""


def own_columns(columns: DedupColumns, rules: DedupRules, batch: Batch, types: TypeRules) -> Columns:
    """Return the columns that a table has for dedup alone. They are NULLABLE, as older rows have no values for them.

    Decimals keep all digits, whatever decimalHandlingMode says, as a FLOAT takes large ones for equal.
    """
    if types.decimals is ColumnType.FLOAT:
        types = replace(types, decimals=ColumnType.BIGNUMERIC)
    found = [
        column_of(placed.column, cell(batch, placed.path).schema.as_optional(), types, str(placed.path))
        for placed in columns.own
    ]
    if rules.deletes is Deletes.SOFT:
        found.append(ColumnSchema(SOFT_DELETED, ColumnType.BOOLEAN, NULLABLE))
    if rules.stores_clears:
        found.append(ColumnSchema(CLEARS, ColumnType.BOOLEAN, NULLABLE))
    if rules.marks_late:
        found.append(ColumnSchema(LATE, ColumnType.BOOLEAN, NULLABLE))
    return tuple(found)


def cell(batch: Batch, path: Path) -> Found:
    """Return the values at a path that dedup names. A tombstone has no value: the fields are taken from its key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = find(batch, path)
    if path.root is not Root.VALUE or batch.keys is None or not batch.values.arrow().null_count:
        return found
    key_schema: s.Schema | None = schema_of(batch.keys)
    for name in path.names:
        key_schema = key_schema.field(name) if key_schema is not None and key_schema.type is s.Type.STRUCT else None
    if key_schema is None:
        return found
    from_keys = find(batch, Path(Root.KEY, path.names))
    if pa.types.is_null(found.values.type):
        return from_keys
    try:
        keys = from_keys.values.cast(found.values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise misfit(from_keys.schema, str(path), error) from None
    return Found(pc.if_else(batch.values.arrow().is_null(), keys, found.values), found.schema.as_optional())


def misfit(schema: s.Schema, name: str, error: Exception) -> MisfitError:
    """Return the error for a value which dedup compares and its column cannot hold."""
    return MisfitError(
        f"A value of the type {schema.name or schema.type} has no place in its column: {error}.",
        field=name,
        fix="Give the records keys of one type, or name another field in dedup.fields.",
    )


def times_us(batch: Batch, offsets: pa.Int64Array) -> pa.Array:
    """Return Kafka's timestamps, in microseconds, of the records at these offsets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    assert batch.consumed is not None
    times = batch.timestamps_ms if batch.timestamps_ms is not None else pa.nulls(len(batch), pa.int64())
    places = pc.index_in(offsets, value_set=batch.consumed.offsets)
    return pc.multiply(times.take(places), 1000)
