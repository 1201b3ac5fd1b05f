"""A batch made into rows of a staging table: columns in the table's types, keys, order, deletes; and the rows refused.

Changes nothing, so whatever it raises leaves the sink as it was. Columns stay Arrow: no object per record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.errors import ConnectError
from connect.api.records import Batch
from connectors.bigquery.dedup import (
    IS_DELETE,
    SOFT_DELETED,
    DedupColumns,
    DedupRules,
    Deletes,
    NullKey,
    Placed,
    check_key_type,
)
from connectors.bigquery.fit import fitted, fitted_rows
from connectors.bigquery.names import FieldNames
from connectors.bigquery.paths import Found, Path, Root, find, schema_of
from connectors.bigquery.table_schema import NULLABLE, Columns, ColumnSchema, ColumnType, by_name
from connectors.bigquery.types import TypeRules, arrow_type_of, column_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Admitted:
    """Rows to stage, in the order of their offsets. bad: rows of the batch as it was put. ignored: deletes left out."""

    rows: pa.Table
    offsets: pa.Int64Array
    bad: Mapping[int, Exception]
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Admission:
    """What becomes of the records of one schema in one table. `table`: its columns, dedup's own among them."""

    table: Columns
    rules: DedupRules
    columns: DedupColumns
    names: FieldNames

    def admit(self, batch: Batch) -> Admitted:
        """SchemaError when a dedup field is missing, or when no value of a field has a place in its column."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values, schema = batch.values.arrow(), schema_of(batch.values)
        tombstone = values.is_null()
        cells = self._cells(batch)
        bad = self._without_key(batch, cells, tombstone)
        skipped = _indices(tombstone) if self.rules.deletes is Deletes.IGNORE else set()
        bad = {row: error for row, error in bad.items() if row not in skipped}
        for name, found in self._fields(values, schema).items():
            column = by_name(self.table)[name]
            present = found.values
            if tombstone.true_count:  # a delete has no values, and needs none
                alive = pc.indices_nonzero(pc.invert(tombstone))
                misfits = fitted_rows(present.take(alive), found.schema, column, name)
                bad |= {alive[row].as_py(): error for row, error in misfits.items()}
            else:
                bad |= fitted_rows(present, found.schema, column, name)
        kept = None
        if bad or skipped:
            kept = pa.array([row for row in range(len(batch)) if row not in bad and row not in skipped], pa.int64())
        assert batch.consumed is not None
        rows = self._rows(_taken(values, kept), schema, {n: _taken_found(f, kept) for n, f in cells.items()})
        rows = rows.append_column(IS_DELETE, _taken(self._is_delete(batch, tombstone), kept))
        return Admitted(rows, _taken(batch.consumed.offsets, kept), dict(sorted(bad.items())), len(skipped))

    def _fields(self, values: pa.Array, schema: s.Schema) -> dict[str, Found]:
        """The fields of the value by the name, in lower case, of their column."""
        import pyarrow.compute as pc

        if schema.type is not s.Type.STRUCT:
            return {}
        fields = (self.names.column(f.name, f.name).lower() for f in schema.fields)
        return {
            name: Found(pc.struct_field(values, i), f.schema)
            for i, (name, f) in enumerate(zip(fields, schema.fields, strict=True))
        }

    def _rows(self, values: pa.Array, schema: s.Schema, cells: Mapping[str, Found]) -> pa.Table:
        import pyarrow as pa

        fields = self._fields(values, schema)
        arrays = []
        for column in self.table:
            found = cells.get(column.name) or fields.get(column.name.lower())
            relaxed = column.relaxed()  # of a delete only the key is there
            if column.name == SOFT_DELETED or found is None:
                arrays.append(pa.nulls(len(values), arrow_type_of(relaxed)))
            else:
                arrays.append(fitted(found.values, found.schema, relaxed, column.name))
        return pa.Table.from_arrays(arrays, names=[column.name for column in self.table])

    def _cells(self, batch: Batch) -> dict[str, Found]:
        """The values of keys and order by column; those of tombstones come from the record's key."""
        found = {}
        for placed in (*self.columns.order, *self.columns.keys):
            found[placed.column] = cell(batch, placed.path)
        for placed in self.columns.keys:
            check_key_type(placed.path, found[placed.column].schema, batch.topic)
        return found

    def _without_key(self, batch: Batch, cells: Mapping[str, Found], tombstone: pa.Array) -> dict[int, Exception]:
        """Rows that lack a dedup field, and deletes that lack a field of the order."""
        bad: dict[int, Exception] = {}
        for placed in self.columns.keys:
            lacking = _indices(cells[placed.column].values.is_null())
            if lacking and self.rules.null_key is NullKey.FAIL and self._counts(lacking, tombstone):
                raise _no_key(batch, min(lacking), placed, is_final=True)
            bad |= {row: _no_key(batch, row, placed, is_final=False) for row in lacking}
        if not tombstone.true_count:
            return bad
        deletes = _indices(tombstone)
        for placed in self.columns.order:
            if placed.path.root is Root.VALUE:
                lacking = _indices(cells[placed.column].values.is_null()) & deletes
                bad |= {row: _no_order(batch, row, placed) for row in lacking}
        return bad

    def _counts(self, lacking: set[int], tombstone: pa.Array) -> bool:
        """Whether one of the rows is more than a tombstone that is left out anyway."""
        return self.rules.deletes is not Deletes.IGNORE or bool(lacking - _indices(tombstone))

    def _is_delete(self, batch: Batch, tombstone: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.rules.delete_field is None:
            return tombstone
        found = find(batch, self.rules.delete_field).values
        marked = pc.equal(found.cast(pa.string()), self.rules.delete_value).fill_null(False)
        return pc.or_(tombstone, marked)


def own_columns(columns: DedupColumns, rules: DedupRules, batch: Batch, types: TypeRules) -> Columns:
    """The columns that a table has for dedup alone: all NULLABLE, as rows that were there before have none."""
    found = [
        column_of(placed.column, cell(batch, placed.path).schema.as_optional(), types, str(placed.path))
        for placed in columns.own
    ]
    if rules.deletes is Deletes.SOFT:
        found.append(ColumnSchema(SOFT_DELETED, ColumnType.BOOLEAN, NULLABLE))
    return tuple(found)


def cell(batch: Batch, path: Path) -> Found:
    """The values at a path of dedup. A tombstone has no fields: its key is looked into, by the same names."""
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
    keys = from_keys.values.cast(found.values.type)
    return Found(pc.if_else(batch.values.arrow().is_null(), keys, found.values), found.schema.as_optional())


def _no_key(batch: Batch, row: int, placed: Placed, *, is_final: bool) -> ConnectError:
    what = "tombstone" if batch.values.arrow().is_null()[row].as_py() else "record"
    fix = "Set dedup.null.key=dlq to treat such records as bad ones."
    if what == "tombstone":
        fix = f"Set dedup.delete=ignore, or give its key a field {placed.path}. {fix}"
    message = f"{_place(batch, row)}: the {what} has no {placed.path}, which dedup.fields names."
    return ConnectError(message, key="dedup.null.key", fix=fix if is_final else None)


def _no_order(batch: Batch, row: int, placed: Placed) -> ConnectError:
    return ConnectError(
        f"{_place(batch, row)}: the tombstone has no {placed.path}, so nothing says which records it comes after.",
        key="dedup.order.by",
        fix="Set dedup.order.by=__timestamp, give its key such a field, or set dedup.delete=ignore.",
    )


def _place(batch: Batch, row: int) -> str:
    assert batch.consumed is not None
    return f"{batch.consumed.topic_partition.topic}-{batch.partition}@{batch.consumed.offsets[row].as_py()}"


def _indices(mask: pa.Array) -> set[int]:
    import pyarrow.compute as pc

    return set(pc.indices_nonzero(mask).to_pylist()) if mask.true_count else set()


def _taken(array: Any, kept: pa.Array | None) -> Any:
    return array if kept is None else array.take(kept)


def _taken_found(found: Found, kept: pa.Array | None) -> Found:
    return Found(_taken(found.values, kept), found.schema)
