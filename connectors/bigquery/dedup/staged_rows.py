"""Makes rows of a staging table from a batch: in the table's types, with keys, order and marks; and finds bad rows.

It changes no state, so an error leaves the sink as it was. Columns stay Arrow: no object is made per record.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.bigquery.dedup.dedup_values import cell, misfit, times_us
from connectors.bigquery.dedup.refusals import in_table, late_rows, no_key, no_order, no_value
from connectors.bigquery.dedup.rules import (
    CLEARS,
    INSERT_ID,
    IS_APPEND,
    IS_DELETE,
    PLACE,
    SOFT_DELETED,
    DedupColumns,
    DedupRules,
    Deletes,
    NullKey,
    check_key_type,
)
from connectors.bigquery.dedup.window import Late, Window, newest_of
from connectors.bigquery.rows.extras import Extras
from connectors.bigquery.rows.fit import fitted, fitted_rows
from connectors.bigquery.rows.names import FieldNames
from connectors.bigquery.rows.paths import COORDINATES, Found, Path, Root, find, schema_of, unreadable_headers
from connectors.bigquery.rows.rounded import rounded_fields
from connectors.bigquery.rows.table_schema import Columns, by_name
from connectors.bigquery.rows.types import arrow_type_of

if TYPE_CHECKING:
    import pyarrow as pa


_NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class Admitted:
    """Holds rows that are to be staged, in the order of their offsets.

    `bad` has the errors of bad rows by their index in the batch that was put. `late` is the number of late rows.
    With a window, `oldest_us` and `newest_us` are the first and last time of the table's partitions for these rows.
    """

    rows: pa.Table
    offsets: pa.Int64Array
    bad: Mapping[int, Exception]
    late: int = 0
    oldest_us: int | None = None
    newest_us: int | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """Makes rows for one table of records of one schema. `table` are its columns, those for dedup among them.

    `name` is the table's, for messages. The values at the paths `insert_id` make INSERT_ID; without paths there is
    none. `may_round`: the records have Decimals, and the table FLOAT columns.
    """

    table: Columns
    rules: DedupRules
    columns: DedupColumns
    names: FieldNames
    window: Window | None = None
    extras: Extras = _NO_EXTRAS
    insert_id: tuple[Path, ...] = ()
    name: str = ""
    may_round: bool = False

    def admit(self, batch: Batch, newest_us: int | None = None) -> Admitted:
        """Return the rows to stage, and the bad ones of the batch.

        SchemaError: a dedup field is missing, or no value of some field fits its column. `newest_us` is the latest time
        of a partition so far, see `Window`.
        """
        import pyarrow as pa

        values, schema = batch.values.arrow(), schema_of(batch.values)
        tombstone = values.is_null()
        cells = self._cells(batch)
        unreadable = unreadable_headers(batch, self._paths())
        unordered = self._unordered(cells, tombstone)
        bad = self._without_key(batch, cells, tombstone, unreadable)
        if not self.rules.clears:
            bad |= {row: no_order(batch, row, self.rules) for row in _indices(unordered)}
        lacks_key = self._lacks_key(cells, len(batch))
        skipped = self._skipped(lacks_key, tombstone)
        bad = {row: error for row, error in bad.items() if row not in skipped}
        fields, fits = self._fields(values, schema), dict[str, pa.Array]()
        bad |= self._misfits(fields, tombstone, fits) | unreadable
        kept = None
        if bad or skipped:
            kept = pa.array([row for row in range(len(batch)) if row not in bad and row not in skipped], pa.int64())
        assert batch.consumed is not None
        extras = self.extras.values(batch, time.time_ns() // 1_000_000)
        cells |= {self.names.column(name, name): found for name, found in extras.items()}
        if kept is not None:
            fields, fits = self._fields(values.take(kept), schema), {}
            cells = {name: Found(found.values.take(kept), found.schema) for name, found in cells.items()}
        size = len(batch) if kept is None else len(kept)
        rows = self._rows(size, fields | {name.lower(): found for name, found in cells.items()}, fits)
        rows = rows.append_column(IS_DELETE, _taken(self._is_delete(batch, tombstone), kept))
        rows = rows.append_column(IS_APPEND, _taken(self._is_append(lacks_key, tombstone), kept))
        if self.rules.clears:
            rows = _without(rows, CLEARS).append_column(CLEARS, _taken(unordered, kept))
        if self.insert_id:
            rows = rows.append_column(INSERT_ID, _taken(self._insert_ids(batch), kept))
        admitted = Admitted(rows, _taken(batch.consumed.offsets, kept), dict(sorted(bad.items())))
        return admitted if self.window is None else self._judged(self.window, batch, admitted, kept, newest_us)

    def rounded(self, batch: Batch, told: Container[str]) -> Iterator[str]:
        """Yield the fields whose Decimals lose digits in FLOAT columns; those that were `told` are left out."""
        if not self.may_round:
            return
        known = by_name(self.table)
        for name, found in self._fields(batch.values.arrow(), schema_of(batch.values)).items():
            if name in known:
                yield from rounded_fields(found.values, found.schema, known[name], known[name].name, told)

    def _paths(self) -> Iterator[Path]:
        """Yield all paths that settings name."""
        yield from (placed.path for placed in (*self.columns.order, *self.columns.keys))
        yield from self.insert_id
        if self.rules.delete_field is not None:
            yield self.rules.delete_field

    def _insert_ids(self, batch: Batch) -> pa.Array:
        """Return the values at the paths of `insert_id`, joined so that they can be told apart, and the number of a row
        that shares its record. A row that lacks a value, but for the topic's id, has none, as it is no other row's
        repeat.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = [find(batch, path).values.cast(pa.string()) for path in self.insert_id]
        for number, path in enumerate(self.insert_id):
            if path.root is Root.TOPIC_ID:
                parts[number] = parts[number].fill_null("")  # brokers may tell no id of a topic
        if set(self.insert_id) != set(PLACE) and len(parts) > 1:
            parts = [pc.replace_substring(pc.replace_substring(part, "%", "%25"), "-", "%2D") for part in parts]
        joined = pc.binary_join_element_wise(*parts, "-")
        numbers = batch.consumed.row_numbers if batch.consumed is not None else None
        if numbers is None or Path(Root.OFFSET) not in self.insert_id:
            return joined
        numbered = pc.binary_join_element_wise(joined, numbers.cast(pa.string()), "-")
        return pc.if_else(pc.greater(numbers, 0), numbered, joined)

    def _misfits(
        self, fields: Mapping[str, Found], tombstone: pa.Array, fits: dict[str, pa.Array]
    ) -> dict[int, Exception]:
        """Return the rows with a value that does not fit its column. SchemaError: no value of a field fits.

        `fits` gets the values of fields whose rows all fit, as their columns take them, where no row is a tombstone.
        """
        try:
            bad = self._unfitting(fields, tombstone, fits)
        except SchemaError as error:
            raise in_table(self.name, error) from None
        return {row: in_table(self.name, error) for row, error in bad.items()}

    def _unfitting(
        self, fields: Mapping[str, Found], tombstone: pa.Array, fits: dict[str, pa.Array]
    ) -> dict[int, SchemaError]:
        import pyarrow.compute as pc

        bad: dict[int, SchemaError] = {}
        known = by_name(self.table)
        for name, found in fields.items():
            if name not in known:  # ignoreUnknownFields
                continue
            if not tombstone.true_count:
                fit, misfits = fitted_rows(found.values, found.schema, known[name], name)
                fits |= {} if fit is None else {name: fit}
                bad |= misfits
                continue
            alive = pc.indices_nonzero(pc.invert(tombstone))  # a delete has no values, and needs none
            _, misfits = fitted_rows(found.values.take(alive), found.schema, known[name], name)
            bad |= {alive[row].as_py(): error for row, error in misfits.items()}
        return bad

    def _skipped(self, lacks_key: pa.Array, tombstone: pa.Array) -> set[int]:
        """Return the deletes to leave out: all, or those that name no row where such records are appended."""
        import pyarrow.compute as pc

        if self.rules.deletes is Deletes.IGNORE:
            return _indices(tombstone)
        if self.rules.null_key is NullKey.APPEND:
            return _indices(pc.and_(tombstone, lacks_key))
        return set()

    def _lacks_key(self, cells: Mapping[str, Found], size: int) -> pa.Array:
        """Return a mask that is true at the rows that lack a dedup field."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lacking = pa.repeat(False, size)
        for placed in self.columns.keys:
            lacking = pc.or_(lacking, cells[placed.column].values.is_null())
        return lacking

    def _judged(
        self, window: Window, batch: Batch, admitted: Admitted, kept: pa.Array | None, newest_us: int | None
    ) -> Admitted:
        """Return the rows that the rules for late records leave. `kept` are their indices in the batch; None: all."""
        import pyarrow.compute as pc

        # A delete has no column of its own that says when: its record's time is the best there is.
        own = window.times(admitted.rows)
        times = pc.coalesce(own, times_us(batch, admitted.offsets))
        newest = newest_of(own, newest_us, time.time_ns() // 1000)
        late = window.late_rows(times, newest)
        bad = dict(admitted.bad)
        rows, offsets = admitted.rows, admitted.offsets
        if late.true_count and window.late is Late.APPEND:
            # A delete has no values to add. It is searched for as far back as it is.
            added = pc.and_not(late, rows[IS_DELETE].combine_chunks())
            appended = pc.or_(rows[IS_APPEND].combine_chunks(), added)
            rows = rows.set_column(rows.column_names.index(IS_APPEND), IS_APPEND, appended)
        elif late.true_count and window.late is not Late.MERGE:
            if window.late is Late.DLQ:
                places = pc.indices_nonzero(late)
                bad |= late_rows(batch, places if kept is None else kept.take(places))
            in_time = pc.invert(late)
            rows, offsets, times = rows.filter(in_time), offsets.filter(in_time), times.filter(in_time)
        oldest = pc.min(times).as_py()
        return Admitted(rows, offsets, dict(sorted(bad.items())), late.true_count, oldest, newest)

    def _fields(self, values: pa.Array, schema: s.Schema) -> dict[str, Found]:
        """Return the fields of the value by the name, in lower case, of their column."""
        import pyarrow.compute as pc

        if schema.type is not s.Type.STRUCT:
            return {}
        fields = (self.names.column(f.name, f.name).lower() for f in schema.fields)
        has_nulls = values.null_count > 0  # a member of a null struct is null
        return {
            name: Found(pc.struct_field(values, i) if has_nulls else values.field(i), self.names.within(f.schema))
            for i, (name, f) in enumerate(zip(fields, schema.fields, strict=True))
        }

    def _rows(self, size: int, known: Mapping[str, Found], fits: Mapping[str, pa.Array]) -> pa.Table:
        """Return the rows in the table's columns. `known` has the values by the column's name in lower case, and `fits`
        those that are in their column's form already.
        """
        import pyarrow as pa

        arrays = []
        for column in self.table:
            name = column.name.lower()
            found = known.get(name)
            if column.name == SOFT_DELETED or found is None:
                arrays.append(pa.nulls(size, arrow_type_of(column)))
            elif name in fits:
                arrays.append(fits[name])
            else:
                relaxed = column.relaxed()  # of a delete only the key is there
                try:
                    arrays.append(fitted(found.values, self.names.within(found.schema), relaxed, column.name))
                except pa.ArrowInvalid as error:
                    raise misfit(found.schema, column.name, error) from None
        return pa.Table.from_arrays(arrays, names=[column.name for column in self.table])

    def _cells(self, batch: Batch) -> dict[str, Found]:
        """Return the values of keys and order by column; those of tombstones come from the record's key."""
        found = {}
        for placed in (*self.columns.order, *self.columns.keys):
            found[placed.column] = cell(batch, placed.path)
        for placed in self.columns.keys:
            check_key_type(placed.path, found[placed.column].schema, batch.topic)
        return found

    def _without_key(
        self, batch: Batch, cells: Mapping[str, Found], tombstone: pa.Array, refused: Collection[int]
    ) -> dict[int, Exception]:
        """Return rows without a dedup field and deletes without a row, but for those `refused` already."""
        bad: dict[int, Exception] = {}
        for placed in self.columns.keys:
            lacking = _indices(cells[placed.column].values.is_null()).difference(refused)
            if lacking and self.rules.null_key is NullKey.FAIL and self._counts(lacking, tombstone):
                raise no_key(batch, min(lacking), placed.path, is_final=True)
            if self.rules.null_key is NullKey.APPEND:
                continue
            bad |= {row: no_key(batch, row, placed.path, is_final=False) for row in lacking}
        if self.rules.deletes is Deletes.REFUSE:
            bad |= {row: no_value(batch, row) for row in _indices(tombstone)}
        return bad

    def _unordered(self, cells: Mapping[str, Found], tombstone: pa.Array) -> pa.Array:
        """Return a mask that is true at the tombstones that lack a field of dedup.order.by."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lacking = pa.repeat(False, len(tombstone))
        for placed in self.columns.order:
            if placed.path.root not in COORDINATES:
                lacking = pc.or_(lacking, cells[placed.column].values.is_null())
        return pc.and_(lacking, tombstone)

    def _counts(self, lacking: set[int], tombstone: pa.Array) -> bool:
        """Return True if a row is more than a tombstone that is left out."""
        return self.rules.deletes is not Deletes.IGNORE or bool(lacking - _indices(tombstone))

    def _is_append(self, lacks_key: pa.Array, tombstone: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        return pc.or_(lacks_key, pc.invert(tombstone)) if self.rules.appends else lacks_key

    def _is_delete(self, batch: Batch, tombstone: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.rules.delete_field is None:
            return tombstone
        found = find(batch, self.rules.delete_field).values
        marked = pc.equal(found.cast(pa.string()), self.rules.delete_value).fill_null(False)
        return pc.or_(tombstone, marked)


def _indices(mask: pa.Array) -> set[int]:
    import pyarrow.compute as pc

    return set(pc.indices_nonzero(mask).to_pylist()) if mask.true_count else set()


def _without(rows: pa.Table, column: str) -> pa.Table:
    return rows.drop_columns([column]) if column in rows.column_names else rows


def _taken(array: Any, kept: pa.Array | None) -> Any:
    return array if kept is None else array.take(kept)
