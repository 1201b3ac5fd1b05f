"""Casts values of Connect types to the Arrow type of a column without loss, or refuses them row by row. Pure.

The one exception is a Decimal in a FLOAT column, which `decimalHandlingMode=FLOAT` asks for; `rounded.py` finds those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.time_types import NAMESPACE
from connectors.bigquery.rows.table_schema import REPEATED, REQUIRED, ColumnSchema, ColumnType
from connectors.bigquery.rows.types import arrow_type_of

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS: Final = frozenset(
    {ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.NUMERIC, ColumnType.BIGNUMERIC, ColumnType.STRING}
)
_TEXTS: Final = frozenset(ColumnType) - {ColumnType.BYTES, ColumnType.RECORD}
_FIRST_US: Final = -62_135_596_800_000_000
_LAST_US: Final = 253_402_300_799_999_999
"""This is the last microsecond of the year 9999: TIMESTAMP and DATETIME hold the years 1 to 9999."""
_DATE_DAYS: Final = (-719_162, 2_932_896)


def fitted_rows(
    array: pa.Array, schema: s.Schema, column: ColumnSchema, path: str
) -> tuple[pa.Array | None, Mapping[int, SchemaError]]:
    """Return the values in the column's type, or None and the rows whose value has no place in the column, each with
    the reason.

    All are tried at once, then halves of what fails, so good rows are cheap.
    """
    bad: dict[int, SchemaError] = {}

    def search(start: int, stop: int) -> pa.Array | None:
        found = _fitted_or_error(array.slice(start, stop - start), schema, column, path)
        if not isinstance(found, SchemaError):
            return found
        if stop - start == 1:
            bad[start] = found
            return None
        middle = (start + stop) // 2
        search(start, middle)
        search(middle, stop)
        return None

    return search(0, len(array)), bad


def _fitted_or_error(array: pa.Array, schema: s.Schema, column: ColumnSchema, path: str) -> pa.Array | SchemaError:
    import pyarrow as pa

    try:
        return fitted(array, schema, column, path)
    except (pa.ArrowInvalid, _MissingError) as error:
        said = str(error).rstrip(".")
        return SchemaError(f"A value does not fit column {column.name} ({_shown(column)}): {said}.", field=path)


class _MissingError(Exception):
    """A value is null where the column is REQUIRED."""


def fitted(array: pa.Array, schema: s.Schema, column: ColumnSchema, path: str) -> pa.Array:
    """Cast all values to the column's Arrow type. pyarrow.ArrowInvalid or _MissingError: one of them does not fit."""
    if column.mode == REPEATED:
        return _repeated(array, schema, column, path)
    if column.mode == REQUIRED and array.null_count:
        raise _MissingError("it is null and the column is REQUIRED")
    if schema.type is s.Type.STRUCT or column.type is ColumnType.RECORD:
        return _record(array, schema, column, path)
    if schema.type in {s.Type.ARRAY, s.Type.MAP}:
        raise _no_place(schema, column, path)
    return _scalar(array, schema, column, path)


def _repeated(array: pa.Array, schema: s.Schema, column: ColumnSchema, path: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if schema.type not in {s.Type.ARRAY, s.Type.MAP}:
        raise _no_place(schema, column, path)
    element = replace(column, mode=REQUIRED)
    lists, items = array, schema.items
    if schema.type is s.Type.MAP:
        assert schema.keys is not None
        assert schema.items is not None
        items = s.struct({"key": schema.keys, "value": schema.items})
        entries = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
        lists = pa.ListArray.from_arrays(array.offsets, entries)
    assert items is not None
    # Of a slice `values` are those of the whole array, so lengths are counted anew.
    lengths = pc.list_value_length(lists).fill_null(0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    values = fitted(lists.flatten(), items, element, path)
    mask = array.is_null() if array.null_count else None
    kind = pa.list_(pa.field("element", values.type, nullable=False))
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=mask)


def _record(array: pa.Array, schema: s.Schema, column: ColumnSchema, path: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if schema.type is not s.Type.STRUCT or column.type is not ColumnType.RECORD:
        raise _no_place(schema, column, path)
    given = {f.name.lower(): (i, f.schema) for i, f in enumerate(schema.fields)}
    children = []
    for child in column.fields:
        found = given.get(child.name.lower())
        if found is None:
            children.append(pa.nulls(len(array), arrow_type_of(child)))
            continue
        values = pc.struct_field(array, found[0])
        present = child if not array.null_count else child.relaxed()
        children.append(fitted(values, found[1], present, f"{path}.{child.name}"))
    mask = array.is_null() if array.null_count else None
    fields = [pa.field(child.name, values.type) for child, values in zip(column.fields, children, strict=True)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _scalar(array: pa.Array, schema: s.Schema, column: ColumnSchema, path: str) -> pa.Array:
    import pyarrow as pa

    if schema.name in _DEBEZIUM and column.type is not ColumnType.INTEGER:
        array = _DEBEZIUM[schema.name](array)
    if column.type not in _allowed(array.type):
        raise _no_place(schema, column, path)
    if column.type in {ColumnType.NUMERIC, ColumnType.BIGNUMERIC} and pa.types.is_integer(array.type):
        array = array.cast(pa.decimal128(19, 0))
    kind = arrow_type_of(column)
    result = array if array.type == kind else array.cast(kind)
    if column.type in {ColumnType.TIMESTAMP, ColumnType.DATETIME}:
        _check_range(result.cast(pa.int64()), _FIRST_US, _LAST_US)
    if column.max_length is not None and column.type in {ColumnType.STRING, ColumnType.BYTES}:
        _check_length(result, column.max_length)
    if column.type is ColumnType.DATE:
        _check_range(result.cast(pa.int32()), *_DATE_DAYS)
    return result


def _allowed(arrow: pa.DataType) -> frozenset[ColumnType]:
    """Return the types of columns that hold the values of an Arrow type, or refuse those that they do not hold."""
    import pyarrow.types as t

    if t.is_integer(arrow):
        return _NUMBERS
    if t.is_floating(arrow):
        return frozenset({ColumnType.FLOAT, ColumnType.STRING})
    if t.is_decimal(arrow):
        return _NUMBERS
    if t.is_string(arrow) or t.is_large_string(arrow) or t.is_null(arrow):
        return _TEXTS
    if t.is_boolean(arrow):
        return frozenset({ColumnType.BOOLEAN, ColumnType.STRING})
    if t.is_date(arrow):
        return frozenset({ColumnType.DATE, ColumnType.DATETIME, ColumnType.TIMESTAMP, ColumnType.STRING})
    if t.is_time(arrow):
        return frozenset({ColumnType.TIME, ColumnType.STRING})
    if t.is_timestamp(arrow):
        return frozenset({ColumnType.TIMESTAMP, ColumnType.DATETIME, ColumnType.STRING})
    return frozenset({ColumnType.BYTES})


def _debezium() -> dict[str, Callable[[pa.Array], pa.Array]]:
    def to(*types: str) -> Callable[[pa.Array], pa.Array]:
        def cast(array: pa.Array) -> pa.Array:
            import pyarrow as pa

            for name in types:
                array = array.cast(pa.timestamp(name, "UTC") if name in {"ms", "us"} else pa.type_for_alias(name))
            return array

        return cast

    names = {
        "Date": to("int32", "date32"), "Time": to("int32", "time32[ms]"), "MicroTime": to("int64", "time64[us]"),
        "Timestamp": to("int64", "ms"), "MicroTimestamp": to("int64", "us"), "ZonedTimestamp": to("us"),
    }  # fmt: skip
    return {NAMESPACE + name: cast for name, cast in names.items()}


_DEBEZIUM: Final = _debezium()


def _check_range(numbers: pa.Array, least: int, most: int) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.min_max(numbers)
    low, high = found["min"].as_py(), found["max"].as_py()
    if low is not None and not least <= low <= high <= most:
        raise pa.ArrowInvalid("it is not in the years 1 to 9999, which BigQuery holds")


def _check_length(values: pa.Array, most: int) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    length = pc.utf8_length if pa.types.is_string(values.type) else pc.binary_length
    longest = pc.max(length(values)).as_py()
    if longest is not None and longest > most:
        raise pa.ArrowInvalid(f"it is {longest} long, and the column takes {most}")


def _no_place(schema: s.Schema, column: ColumnSchema, path: str) -> SchemaError:
    return SchemaError(
        f"Values of the type {schema.name or schema.type} have no place in column {column.name}, which is "
        f"{_shown(column)}.",
        field=path,
        fix="Change the column's type, or the field's by a transform.",
    )


def _shown(column: ColumnSchema) -> str:
    return f"{column.mode} {column.type}" if column.mode != "NULLABLE" else str(column.type)
