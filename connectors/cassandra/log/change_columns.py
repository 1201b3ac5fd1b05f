"""The columns of change events: what each statement wrote, gathered as lists and made into Arrow arrays at once. Pure.

A row has a change of few of its table's columns, so that each gathers only where it has one, and is spread over all
rows in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from connect.api.arrow import arrow_type
from connect.api.schema import Schema
from connectors.cassandra.cql_types import CqlType
from connectors.cassandra.log.mutation import Cell, ComplexColumn
from connectors.cassandra.pages import Cells, decode_column
from connectors.cassandra.values import UnknownFieldError

_TIMEUUID: Final = CqlType("timeuuid")


def values_of(values: Sequence[bytes | None], cql: CqlType, name: str) -> pa.Array:
    """Values as Cassandra stores them, as an Arrow array. SchemaError names the column."""
    sizes = np.fromiter((-1 if value is None else len(value) for value in values), np.int64, len(values))
    starts = np.zeros(len(values), np.int64)
    np.cumsum(np.maximum(sizes, 0)[:-1], out=starts[1:])
    return decode_column(Cells(b"".join(value for value in values if value), starts, sizes), cql, name)


def struct_of(arrays: Sequence[pa.Array], schema: Schema) -> pa.StructArray:
    """Columns as one array of a struct's schema."""
    return pa.StructArray.from_arrays(list(arrays), fields=list(arrow_type(schema)))


def spread(array: pa.Array, rows: Sequence[int], count: int) -> pa.Array:
    """Values of some rows, in their order, among `count` rows; the others are null."""
    if len(rows) == count:
        return array
    places = np.full(count, -1, np.int64)
    places[np.asarray(rows, np.int64)] = np.arange(len(rows))
    return array.take(pa.array(places, pa.int64(), mask=places < 0))


def times_of(cells: Sequence[Cell]) -> list[pa.Array]:
    """writetime_us, ttl_s and local_deletion_s of cells."""
    writetimes, _, ttls, locals_s, _ = zip(*cells, strict=True) if cells else ((),) * 5
    kinds = ((writetimes, pa.int64()), (ttls, pa.int32()), (locals_s, pa.int64()))
    return [pa.array(values, kind) for values, kind in kinds]


class Change(Protocol):
    """Gathers the changes of one column."""

    def add(self, row: int, change: Cell | ComplexColumn) -> None:
        """What was written to it in a row; rows come in order."""

    def array(self, count: int) -> pa.Array:
        """Its changes in `count` rows."""


class CellChange:
    """Of a column with one cell."""

    def __init__(self, cql: CqlType, schema: Schema, name: str) -> None:
        self._type = cql
        self._schema = schema
        self._name = name
        self._rows: list[int] = []
        self._cells: list[Cell] = []

    def add(self, row: int, change: Cell | ComplexColumn) -> None:
        """One cell more."""
        assert isinstance(change, Cell)
        self._rows.append(row)
        self._cells.append(change)

    def array(self, count: int) -> pa.Array:
        """Value, times, and whether it was removed."""
        found = [cell.value for cell in self._cells]
        values = values_of(found, self._type, self._name)
        deleted = pa.array([value is None for value in found], pa.bool_())
        return spread(struct_of([values, *times_of(self._cells), deleted], self._schema), self._rows, count)


class ElementsChange:
    """Of a list, set or map that is not frozen."""

    def __init__(self, cql: CqlType, schema: Schema, name: str) -> None:
        self._path_type = _TIMEUUID if cql.name == "list" else cql.parameters[0]
        self._value_type = None if cql.name == "set" else cql.parameters[-1]
        self._schema = schema
        self._name = name
        self._rows: list[int] = []
        self._cleared: list[int | None] = []
        self._set_ends, self._removed_ends = [0], [0]
        self._set: list[Cell] = []
        self._removed: list[Cell] = []

    def add(self, row: int, change: Cell | ComplexColumn) -> None:
        """One statement more."""
        assert isinstance(change, ComplexColumn)
        self._rows.append(row)
        self._cleared.append(None if change.deletion is None else change.deletion.writetime_us)
        for cell in change.cells:
            (self._removed if cell.value is None else self._set).append(cell)
        self._set_ends.append(len(self._set))
        self._removed_ends.append(len(self._removed))

    def array(self, count: int) -> pa.Array:
        """When it was cleared, the elements that were set, those that were removed."""
        arrays = [
            pa.array(self._cleared, pa.int64()),
            _lists(self._set_ends, self._written(), self._schema.field("set")),
            _lists(self._removed_ends, self._gone(), self._schema.field("removed")),
        ]
        return spread(struct_of(arrays, self._schema), self._rows, count)

    def _written(self) -> list[pa.Array]:
        values = [] if self._value_type is None else [[cell.value for cell in self._set]]
        made = [values_of(found, self._value_type, self._name) for found in values if self._value_type is not None]
        return [self._paths(self._set), *made, *times_of(self._set)]

    def _gone(self) -> list[pa.Array]:
        writetimes = pa.array([cell.writetime_us for cell in self._removed], pa.int64())
        return [self._paths(self._removed), writetimes, pa.array([cell.local_s for cell in self._removed], pa.int64())]

    def _paths(self, cells: Sequence[Cell]) -> pa.Array:
        return values_of([cell.path for cell in cells], self._path_type, self._name)


class FieldsChange:
    """Of a user-defined type that is not frozen."""

    def __init__(self, cql: CqlType, schema: Schema, name: str) -> None:
        self._schema = schema
        self._name = name
        self._rows: list[int] = []
        self._cleared: list[int | None] = []
        fields = schema.field("fields")
        assert fields is not None
        self._fields_schema = fields
        self._fields = [
            CellChange(parameter, field.schema, f"{name}.{field.name}")
            for parameter, field in zip(cql.parameters, fields.fields, strict=True)
        ]

    def add(self, row: int, change: Cell | ComplexColumn) -> None:
        """One statement more. UnknownFieldError: it writes to a field that was added since."""
        assert isinstance(change, ComplexColumn)
        for cell in change.cells:
            number = int.from_bytes(cell.path or b"", "big")
            if number >= len(self._fields):
                raise UnknownFieldError(
                    f"A value has field {number + 1} of a type with {len(self._fields)} fields.", field=self._name
                )
            self._fields[number].add(len(self._rows), cell)
        self._rows.append(row)
        self._cleared.append(None if change.deletion is None else change.deletion.writetime_us)

    def array(self, count: int) -> pa.Array:
        """When it was cleared, and each field's change."""
        fields = struct_of([field.array(len(self._rows)) for field in self._fields], self._fields_schema)
        return spread(struct_of([pa.array(self._cleared, pa.int64()), fields], self._schema), self._rows, count)


def change_of(cql: CqlType, schema: Schema, name: str) -> Change:
    """What gathers the changes of a column of this type; `schema`: of one change."""
    if not cql.is_multicell:
        return CellChange(cql, schema, name)
    return FieldsChange(cql, schema, name) if cql.name == "udt" else ElementsChange(cql, schema, name)


def _lists(ends: Sequence[int], members: Sequence[pa.Array], schema: Schema | None) -> pa.ListArray:
    assert schema is not None
    assert schema.items is not None
    items = struct_of(members, schema.items)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items, type=arrow_type(schema))
