"""Rows as the protobuf messages of the Storage Write API: a descriptor made of columns, and a message per row. Pure.

Change data capture takes no Arrow, so here a row becomes a Python object. Source of the forms: Google's "Data type
conversions" of the Storage Write API: DATE is days, TIMESTAMP is microseconds since 1970, what protobuf lacks is text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import SchemaError
from connectors.bigquery.table_schema import NULLABLE, REPEATED, Columns, ColumnSchema, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: Final = {
    ColumnType.INTEGER: "TYPE_INT64", ColumnType.FLOAT: "TYPE_DOUBLE", ColumnType.BOOLEAN: "TYPE_BOOL",
    ColumnType.BYTES: "TYPE_BYTES", ColumnType.DATE: "TYPE_INT32", ColumnType.TIMESTAMP: "TYPE_INT64",
}  # fmt: skip
"""All other types are text."""


def descriptor_of(columns: Columns, name: str = "Row") -> Any:
    """The DescriptorProto of rows with these columns. SchemaError: a column's name is none in protobuf."""
    from google.protobuf import descriptor_pb2

    found = descriptor_pb2.DescriptorProto(name=name)
    kinds = descriptor_pb2.FieldDescriptorProto
    for number, column in enumerate(columns, 1):
        if not column.name.isascii():
            raise SchemaError(
                f"Column {column.name} cannot be written by change data capture, whose names are ASCII.",
                field=column.name,
                fix="Set sanitizeFieldNames=true, or dedup.mode=merge.",
            )
        label = kinds.LABEL_REPEATED if column.mode == REPEATED else kinds.LABEL_OPTIONAL
        field = found.field.add(name=column.name, number=number, label=label)
        if column.type is ColumnType.RECORD:
            nested = found.nested_type.add()
            nested.CopyFrom(descriptor_of(column.fields, f"Record{number}"))
            field.type, field.type_name = kinds.TYPE_MESSAGE, nested.name
        else:
            field.type = getattr(kinds, _TYPES.get(column.type, "TYPE_STRING"))
    return found


def messages_of(rows: pa.Table, columns: Columns, descriptor: Any) -> list[bytes]:
    """A message per row. `rows`: these columns, in the Arrow types of `types.arrow_type_of`."""
    import pyarrow as pa
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="row.proto", syntax="proto2")
    file.message_type.add().CopyFrom(descriptor)
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName(descriptor.name))
    arrays = [_plain(rows[column.name].combine_chunks(), column) for column in columns]
    plain = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
    return [message(**_present(row)).SerializeToString() for row in plain.to_pylist()]


def _plain(array: pa.Array, column: ColumnSchema) -> pa.Array:
    """The values in the types whose Python form a message takes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.mode == REPEATED:
        lengths = pc.list_value_length(array).fill_null(0)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
        return pa.ListArray.from_arrays(offsets, _plain(array.flatten(), replace(column, mode=NULLABLE)))
    match column.type:
        case ColumnType.RECORD:
            children = [_plain(pc.struct_field(array, index), child) for index, child in enumerate(column.fields)]
            names = [child.name for child in column.fields]
            return pa.StructArray.from_arrays(children, names=names, mask=array.is_null())
        case ColumnType.DATE:
            return array.cast(pa.int32())
        case ColumnType.TIMESTAMP:
            return array.cast(pa.int64())
        case ColumnType.NUMERIC | ColumnType.BIGNUMERIC | ColumnType.TIME | ColumnType.DATETIME:
            return array.cast(pa.string())
    return array


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without its nulls, which a message leaves out."""
    return {name: _present_value(value) for name, value in row.items() if value is not None}


def _present_value(value: Any) -> Any:
    match value:
        case dict():
            return _present(value)
        case list():
            return [_present_value(part) for part in value]
    return value


def order_sections(values: Sequence[int | None]) -> list[str]:
    """Signed numbers as sections of a sequence number, which sort as the numbers do; null is the smallest."""
    return ["0" if value is None else f"{value + 2**63:x}" for value in values]
