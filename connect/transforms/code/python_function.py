"""Calls a user's function on each value or on the columns of a batch. An error of the function makes its row a bad
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from connect.api.arrow import arrow_type, connect_schema
from connect.api.errors import ConfigError, RejectedRowsError, RetriableError, SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.transforms.settings.extra_config import PythonFunctionConfig
from connect.transforms.settings.function_modules import load_function
from connect.transforms.structure.row_columns import StructColumns, copied
from connect.transforms.structure.sides import Side, null_rows
from connect.transforms.structure.structs import PerSchema, is_struct, rebuilt, struct_array

if TYPE_CHECKING:
    import pyarrow as pa


class FunctionFailedError(SchemaError):
    """Says that the function raised an error, or returned a value that it must not return."""


class _PerRow:
    """Calls the user's function with each value. It is owned by one task thread."""

    def __init__(self, side: Side, config: PythonFunctionConfig) -> None:
        self._side = side
        self._name = config.function
        self._call = _load(config)
        self._types = config.types
        self._schema_of = PerSchema(self._schema)

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the rows for which the function returned a value, in order. Nulls stay, and the function is not called
        for them.
        """
        column = self._side.of(batch)
        made = None if column.schema is None else self._schema_of(column.schema)
        columns = StructColumns.of(column)
        # The function may change rows that were made here. Rows of a column may be needed again, so it gets copies.
        kept, values, rejected = self._called(map(copied, column.rows()) if columns is None else columns.rows())
        if made is not None and made.type is Type.STRUCT:
            rejected |= self._not_dicts(kept, values)
        if rejected:
            raise RejectedRowsError(rejected)
        if not kept:
            return []
        changed = Column.from_rows(values, made)
        if made is not None and made.type is Type.STRUCT:
            try:
                changed = _checked(changed) if columns is None else columns.changed(values, kept, made)
            except SchemaError as error:
                rejected = self._misfits(made, kept, values)
                if not rejected:
                    raise
                raise RejectedRowsError(rejected) from error
        return [self._side.put(batch if len(kept) == len(batch) else batch.take(kept), changed)]

    def _called(self, rows: Iterable[Any]) -> tuple[list[int], list[Any], dict[int, Exception]]:
        """Return the indices of the rows that stay, what the function made of them, and the errors of the other
        rows.
        """
        kept: list[int] = []
        values: list[Any] = []
        rejected: dict[int, Exception] = {}
        call = self._call
        for i, row in enumerate(rows):
            if row is None:
                kept.append(i)
                values.append(None)
                continue
            try:
                value = call(row)
            except RetriableError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a user's function raises is about this row
                rejected[i] = self._failed(error)
                continue
            if value is not None:
                kept.append(i)
                values.append(value)
        return kept, values, rejected

    def _misfits(self, schema: Schema, kept: Sequence[int], values: Sequence[Any]) -> dict[int, Exception]:
        """Return the rows that do not fit the schema, each with its error. It is called once one is known not to
        fit.
        """
        rejected: dict[int, Exception] = {}
        for i, row in zip(kept, values, strict=True):
            try:
                if row is not None:
                    _check(self._name, row, schema)
            except SchemaError as error:
                rejected[i] = error
        return rejected

    def _failed(self, error: Exception) -> Exception:
        if isinstance(error, SchemaError):
            return error
        failed = FunctionFailedError(f"{self._name} raised {type(error).__name__}: {error}")
        failed.__cause__ = error
        return failed

    def _not_dicts(self, kept: Sequence[int], values: Sequence[Any]) -> dict[int, Exception]:
        return {
            i: FunctionFailedError(
                f"{self._name} gave a {type(value).__name__}; it must give a dict, or None to drop the row."
            )
            for i, value in zip(kept, values, strict=True)
            if value is not None and not isinstance(value, dict)
        }

    def _schema(self, schema: Schema) -> Schema:
        if schema.type is not Type.STRUCT:
            return schema
        kept = [
            Field(f.name, Schema(self._types[f.name], optional=True)) if f.name in self._types else f
            for f in schema.fields
        ]
        new = [
            Field(name, Schema(kind, optional=True)) for name, kind in self._types.items() if schema.field(name) is None
        ]
        return rebuilt(schema, (*kept, *new)).as_optional(schema.optional)


class _PerBatch:
    """Calls the user's function with the columns of each batch. It is owned by one task thread."""

    def __init__(self, side: Side, config: PythonFunctionConfig) -> None:
        self._side = side
        self._name = config.function
        self._call = _load(config)

    def apply(self, batch: Batch) -> list[Batch]:
        """Return what the function makes of the values that are not null; nulls stay as they are."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._side.of(batch)
        nulls = set(null_rows(column))
        present = [i for i in range(len(batch)) if i not in nulls]
        if not present:
            return [batch]
        part = column if len(present) == len(batch) else column.take(present)
        given = part.arrow()
        whole = pa.types.is_struct(given.type)
        table = pa.RecordBatch.from_struct_array(given) if whole else pa.record_batch([given], names=["value"])
        try:
            found = self._asked(table)
        except RejectedRowsError as error:
            raise RejectedRowsError({present[i]: cause for i, cause in error.rows.items()}) from error
        if isinstance(found, pa.RecordBatch):
            made = self._column(found, column.schema, given, whole=whole)
            if len(present) < len(batch):
                rows = dict(zip(present, made.rows(), strict=True))
                schema = None if made.schema is None else made.schema.as_optional()
                made = Column.from_rows([rows.get(i) for i in range(len(batch))], schema)
            return [self._side.put(batch, made)]
        gone = {present[i] for i in pc.indices_nonzero(pc.invert(pc.fill_null(found, False))).to_pylist()}
        left = batch.without(gone)
        return [left] if len(left) else []

    def _asked(self, table: pa.RecordBatch) -> pa.RecordBatch | pa.BooleanArray:
        import pyarrow as pa

        try:
            found = self._call(table)
        except (RetriableError, RejectedRowsError):
            raise
        except Exception as error:
            raise FunctionFailedError(f"{self._name} raised {type(error).__name__}: {error}") from error
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        wanted = isinstance(found, pa.RecordBatch) or (isinstance(found, pa.Array) and pa.types.is_boolean(found.type))
        if not wanted:
            raise FunctionFailedError(
                f"{self._name} gave a {type(found).__name__}; it must give a pyarrow.RecordBatch, or a boolean array of"
                " the rows to keep."
            )
        if len(found) != len(table):
            raise FunctionFailedError(
                f"{self._name} gave {len(found)} rows for {len(table)}; it must give as many as it was given.",
                fix="To drop rows, give a boolean array.",
            )
        return found

    def _column(self, found: pa.RecordBatch, schema: Schema | None, given: pa.Array, *, whole: bool) -> Column:
        if not whole:
            return _named("value", found.column(0), schema)
        fields, columns = [], []
        for name, array in zip(found.schema.names, found.columns, strict=True):
            made = _named(name, array, schema.field(name) if is_struct(schema) and schema is not None else None)
            assert made.schema is not None
            fields.append(Field(name, made.schema))
            columns.append(made.arrow())
        base = schema if schema is not None else Schema(Type.STRUCT)
        schema_made = rebuilt(base, fields).as_optional(base.optional)
        array = struct_array(columns, schema_made, given)
        if schema is None:
            return Column.from_rows(Column.from_arrow(array, schema_made.as_optional()).rows(), None)
        return Column.from_arrow(array, schema_made)


def _checked(column: Column) -> Column:
    """Return the column if its rows fit its schema; raise SchemaError if not."""
    column.arrow()
    return column


def _named(name: str, array: pa.Array, before: Schema | None) -> Column:
    """Return a column with the schema that it had before, if its Arrow type still is that schema's, or else with a
    schema that is derived from the type.
    """
    if before is not None and array.type == arrow_type(before):
        nullable = before.optional or not array.null_count
        return Column.from_arrow(array, before if nullable else replace(before, optional=True))
    schema = connect_schema(array.type, path=name)
    return Column.from_arrow(array.cast(arrow_type(schema)), schema)


def _check(function: str, row: Mapping[str, Any], schema: Schema) -> None:
    unknown = [name for name in row if name not in schema.field_index]
    if unknown:
        raise FunctionFailedError(
            f"{function} gave fields that the schema does not have: {', '.join(map(str, unknown))}.",
            key="fields", fix="Declare them in fields, as name:type.",
        )  # fmt: skip
    for field in schema.fields:
        value = row.get(field.name)
        if value is None:
            if not field.schema.optional:
                raise FunctionFailedError(f"{function} gave no value for this required field.", field=field.name)
            continue
        try:
            Column.from_rows([value], field.schema).arrow()
        except SchemaError as error:
            raise FunctionFailedError(
                f"{function} gave a {type(value).__name__}, which is no {field.schema.type}: {error.message}",
                field=field.name, fix="Give another value, or declare the field's new type in fields.",
            ) from error  # fmt: skip


def _load(config: PythonFunctionConfig) -> Callable[[Any], Any]:
    invalid = f"Invalid value {config.function} for configuration function"
    try:
        return load_function(config.function, config.modules)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{invalid}: {error}.", key="function",
            fix="Install the package next to the worker, or put its folder on the worker's PYTHONPATH.",
        ) from error  # fmt: skip
    except ValueError as error:
        raise ConfigError(f"{invalid}: {error}.", key="function") from error


def _transform(side: Side, config: PythonFunctionConfig) -> _PerRow | _PerBatch:
    return _PerBatch(side, config) if config.mode == "batch" else _PerRow(side, config)


def key(config: PythonFunctionConfig) -> _PerRow | _PerBatch:
    """Return the transform PythonFunction$Key."""
    return _transform(Side.KEY, config)


def value(config: PythonFunctionConfig) -> _PerRow | _PerBatch:
    """Return the transform PythonFunction$Value."""
    return _transform(Side.VALUE, config)
