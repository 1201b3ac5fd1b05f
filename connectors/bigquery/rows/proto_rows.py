"""Encodes rows as protobuf messages of the Storage Write API: a descriptor of the columns, a message per row. Pure.

Rows for BigQuery's change data capture cannot be sent as Arrow. No object is made per row. Source of the forms: "Data
type conversions" in Google's documentation of that API. A DATE is days, a TIMESTAMP microseconds since 1970; types that
protobuf lacks are texts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import SchemaError
from connectors.bigquery.rows.table_schema import NULLABLE, REPEATED, Columns, ColumnSchema, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: Final = {
    ColumnType.INTEGER: "TYPE_INT64", ColumnType.FLOAT: "TYPE_DOUBLE", ColumnType.BOOLEAN: "TYPE_BOOL",
    ColumnType.BYTES: "TYPE_BYTES", ColumnType.DATE: "TYPE_INT32", ColumnType.TIMESTAMP: "TYPE_INT64",
}  # fmt: skip
"""The types of columns in protobuf; all others are texts."""


def descriptor_of(columns: Columns, name: str = "Row") -> Any:
    """Return the DescriptorProto of rows with these columns. SchemaError: protobuf takes no such name of a column."""
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


def messages_of(rows: pa.Table, columns: Columns, descriptor: Any) -> pa.BinaryArray:
    """Return a message per row. `rows` have these columns, in the Arrow types of `types.arrow_type_of`."""
    import pyarrow as pa
    from google.protobuf import descriptor_pb2, descriptor_pool
    from ptars import HandlerPool

    file = descriptor_pb2.FileDescriptorProto(name="row.proto", syntax="proto2")
    file.message_type.add().CopyFrom(descriptor)
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kind = pool.FindMessageTypeByName(descriptor.name)
    arrays = [_plain(rows[column.name].combine_chunks(), column) for column in columns]
    plain = pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])
    return HandlerPool([kind.file]).get_for_message(kind).record_batch_to_array(plain)


def joined(messages: pa.BinaryArray) -> bytes:
    """Return the messages joined into one ProtoRows of the Storage Write API."""
    import pyarrow as pa
    from google.cloud.bigquery_storage_v1 import types
    from ptars import HandlerPool

    kind = types.ProtoRows.pb().DESCRIPTOR
    offsets = pa.array([0, len(messages)], pa.int32())
    rows = pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(offsets, messages)], names=["serialized_rows"])
    content: bytes = HandlerPool([kind.file]).get_for_message(kind).record_batch_to_array(rows)[0].as_py()
    return content


def _plain(array: pa.Array, column: ColumnSchema) -> pa.Array:
    """Return the values in the types that a message has."""
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


def order_sections(values: pa.Int64Array) -> pa.StringArray:
    """Return signed numbers as sections of a change sequence number, which sort as they do; null is the smallest."""
    import pyarrow.compute as pc

    return sections(pc.bit_wise_xor(values.fill_null(-(2**63)), -(2**63)))


def sections(values: pa.Int64Array) -> pa.StringArray:
    """Return unsigned 64-bit numbers as sections of a change sequence number: 16 hexadecimal digits each."""
    import pyarrow.compute as pc

    parts = [_digits().take(pc.bit_wise_and(pc.shift_right(values, bits), 0xFFFF)) for bits in (48, 32, 16, 0)]
    return pc.binary_join_element_wise(*parts, "")


@cache
def _digits() -> pa.StringArray:
    """Return the four hexadecimal digits of each number of 16 bits, at the number's place."""
    import pyarrow as pa

    return pa.array([f"{number:04x}" for number in range(2**16)])
