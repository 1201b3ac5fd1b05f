"""Holds the frame of transforms that rebuild a struct or map: it finds their rows and rejects bad ones.

It knows no transform by name. Columns of structs in Arrow form stay columns; everything else is rebuilt row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.transforms.structure.java_names import class_name
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import PerSchema, struct_array

if TYPE_CHECKING:
    import pyarrow as pa


class FieldsKernel(Protocol):
    """Rebuilds a struct or map in the way of one transform."""

    def schema_of(self, schema: Schema, /) -> Schema:
        """Return the schema of the rebuilt structs."""

    def columns(self, array: pa.StructArray, schema: Schema, made: Schema, batch: Batch, /) -> Sequence[pa.Array]:
        """Return the columns of the new schema. RejectedRowsError names the rows that cannot be rebuilt."""

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, made: Schema, batch: Batch, i: int, /
    ) -> dict[str, Any]:
        """Return row i in the new schema. ConnectError: it cannot be rebuilt."""

    def map_row(self, row: Mapping[Any, Any], batch: Batch, i: int, /) -> dict[Any, Any]:
        """Return a rebuilt row, which has no schema."""


@runtime_checkable
class MapsKernel(FieldsKernel, Protocol):
    """A kernel that can also rebuild schemaless maps as columns, if all of them have the same keys."""

    def map_columns(self, array: pa.StructArray, batch: Batch, /) -> Mapping[str, pa.Array] | None:
        """Return the columns by key.

        Return None if columns cannot say what `map_row` makes of each row. `map_row` of such a kernel must never refuse
        a row.
        """


@runtime_checkable
class WholeKernel(FieldsKernel, Protocol):
    """Rebuilds maps as whole columns, too, if the columns tell every row exactly (`Column.is_whole`)."""

    def whole_columns(self, array: pa.StructArray, /) -> Mapping[str, pa.Array] | None:
        """Return the columns by key. If it returns None or raises SchemaError or RejectedRowsError, `map_row` rebuilds
        each row.
        """


class FieldsTransform:
    """Rebuilds the structs or maps of one side. It is owned by one task thread."""

    def __init__(
        self, side: Side, purpose: str, kernel: FieldsKernel, *, nulls: bool = True, no_struct: str = ""
    ) -> None:
        """Make a transform. With `nulls` a null key or value passes unchanged; without it the row of a null is
        rejected.

        `no_struct` is the error's text for schemas that are not of structs, in place of the usual text.
        """
        self._side = side
        self._purpose = purpose
        self._kernel = kernel
        self._nulls = nulls
        self._no_struct = no_struct
        self.schema_of = PerSchema(kernel.schema_of)
        """This gives the schema of rebuilt rows for the schema of given rows."""

    def apply(self, batch: Batch) -> list[Batch]:
        """Return one batch with the rebuilt rows."""
        column = self._side.of(batch)
        nulls = null_rows(column)
        if nulls and not self._nulls:
            raise RejectedRowsError(dict.fromkeys(nulls, self._not_a_row(None, column.schema)))
        if len(nulls) == len(batch):
            return [batch]
        return [self._side.put(batch, self._rebuilt(column, batch))]

    def _rebuilt(self, column: Column, batch: Batch) -> Column:
        schema = column.schema
        kernel = self._kernel
        if schema is None:
            made_maps = self._maps(column, batch)
            if made_maps is not None:
                return made_maps
            return map_rows(column, None, lambda row, i: kernel.map_row(self._checked(row, None), batch, i))
        if schema.type is not Type.STRUCT:
            return map_rows(column, schema, lambda row, _: self._checked(row, schema))
        made = self.schema_of(schema)
        if column.is_arrow:
            array = column.arrow()
            return Column.from_arrow(struct_array(kernel.columns(array, schema, made, batch), made, array), made)
        return map_rows(
            column, made, lambda row, i: kernel.struct_row(self._checked(row, schema), schema, made, batch, i)
        )

    def _maps(self, column: Column, batch: Batch) -> Column | None:
        """Return the changed maps; None if they have to be changed row by row.

        Maps that come from JSON have columns and texts, and the result keeps both forms. Its rows are made later, when
        none can be refused any more.
        """
        import pyarrow as pa

        kernel = self._kernel
        if not column.is_arrow or not isinstance(kernel, MapsKernel | WholeKernel):
            return None
        array = column.arrow()
        made = self._map_columns(array, column, batch) if pa.types.is_struct(array.type) else None
        if not made:
            return None
        mask = array.is_null() if array.null_count else None
        changed = pa.StructArray.from_arrays(list(made.values()), names=list(made), mask=mask)
        if column.is_whole:
            return Column.whole(changed)
        return Column(
            None,
            len(column),
            arrow=lambda: changed,
            rows=lambda: map_rows(column, None, lambda row, i: kernel.map_row(row, batch, i)).rows(),
        )

    def _map_columns(self, array: pa.StructArray, column: Column, batch: Batch) -> Mapping[str, pa.Array] | None:
        kernel = self._kernel
        if isinstance(kernel, MapsKernel):
            return kernel.map_columns(array, batch)
        if not (column.is_whole and isinstance(kernel, WholeKernel)):
            return None
        try:
            return kernel.whole_columns(array)
        except (SchemaError, RejectedRowsError):
            return None  # it is done row by row, with error texts for schemaless values

    def _checked(self, row: Any, schema: Schema | None) -> Mapping[Any, Any]:
        if isinstance(row, Mapping) and (schema is None or schema.type is Type.STRUCT):
            return row
        raise self._not_a_row(row, schema)

    def _not_a_row(self, row: Any, schema: Schema | None) -> SchemaError:
        if schema is not None and self._no_struct:
            return SchemaError(self._no_struct)
        return not_a_row(row, schema, self._purpose)


def not_a_row(row: Any, schema: Schema | None, purpose: str) -> SchemaError:
    """Return the error for a value that is no struct or map, in the words of Java's class `Requirements`."""
    found = class_name(row, schema)
    if schema is None:
        return SchemaError(f"Only Map objects supported in absence of schema for [{purpose}], found: {found}")
    return SchemaError(f"Only Struct objects supported for [{purpose}], found: {found}")


def each_column(schema: Schema, make: Callable[[Field], pa.Array]) -> list[pa.Array]:
    """Return one column per field.

    RejectedRowsError names every bad row once, for the first of its fields that is bad.
    """
    columns: list[pa.Array] = []
    rejected: dict[int, Exception] = {}
    for field in schema.fields:
        try:
            columns.append(make(field))
        except RejectedRowsError as error:
            rejected = {**error.rows, **rejected}
    if rejected:
        raise RejectedRowsError(dict(sorted(rejected.items())))
    return columns


def map_rows(column: Column, schema: Schema | None, change: Callable[[Any, int], Any]) -> Column:
    """Return a column of the changed rows; nulls stay. RejectedRowsError names all rows that could not be changed."""
    rows: list[Any] = []
    rejected: dict[int, Exception] = {}
    for i, row in enumerate(column.rows()):
        try:
            rows.append(None if row is None else change(row, i))
        except ConnectError as error:
            rejected[i] = error
    if rejected:
        raise RejectedRowsError(rejected)
    return Column.from_rows(rows, schema)
