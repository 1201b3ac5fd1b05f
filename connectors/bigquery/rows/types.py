"""Tells which column a Connect type becomes, and the Arrow type of its values in a Parquet file. Pure.

| Connect                         | BigQuery                                             |
| ------------------------------- | ---------------------------------------------------- |
| int8 … int64                    | INTEGER                                              |
| float32, float64                | FLOAT                                                |
| boolean, string, bytes          | BOOLEAN, STRING, BYTES                               |
| Decimal                         | as `decimalHandlingMode` says                        |
| Date, Time, Timestamp           | DATE, TIME, TIMESTAMP                                |
| io.debezium.time.*              | DATE, TIME, TIMESTAMP; INTEGER where in nanoseconds  |
| io.debezium.data.Json           | JSON when the table has such a column, else STRING   |
| what `table.column.types` names | the type given there                                 |
| array, map, struct              | REPEATED, REPEATED RECORD of key and value, RECORD   |

Source: BigQueryRecordConverter, KafkaLogicalConverters and DebeziumLogicalConverters of the WePay connector 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.time_types import NAMESPACE
from connectors.bigquery.rows.names import FieldNames
from connectors.bigquery.rows.table_schema import NULLABLE, REPEATED, REQUIRED, ColumnSchema, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

_SIMPLE: Final = {
    s.Type.INT8: ColumnType.INTEGER, s.Type.INT16: ColumnType.INTEGER, s.Type.INT32: ColumnType.INTEGER,
    s.Type.INT64: ColumnType.INTEGER, s.Type.FLOAT32: ColumnType.FLOAT, s.Type.FLOAT64: ColumnType.FLOAT,
    s.Type.BOOLEAN: ColumnType.BOOLEAN, s.Type.STRING: ColumnType.STRING, s.Type.BYTES: ColumnType.BYTES,
}  # fmt: skip
_NESTED: Final = frozenset({s.Type.STRUCT, s.Type.ARRAY, s.Type.MAP})
_LOGICAL: Final = {
    s.DATE: ColumnType.DATE, s.TIME: ColumnType.TIME, s.TIMESTAMP: ColumnType.TIMESTAMP,
    f"{NAMESPACE}Date": ColumnType.DATE, f"{NAMESPACE}Time": ColumnType.TIME,
    f"{NAMESPACE}MicroTime": ColumnType.TIME, f"{NAMESPACE}Timestamp": ColumnType.TIMESTAMP,
    f"{NAMESPACE}MicroTimestamp": ColumnType.TIMESTAMP, f"{NAMESPACE}ZonedTimestamp": ColumnType.TIMESTAMP,
}  # fmt: skip
_DEBEZIUM_TIMESTAMPS: Final = frozenset({f"{NAMESPACE}Timestamp", f"{NAMESPACE}MicroTimestamp"})
NUMERIC_DIGITS: Final = (38, 9)
BIGNUMERIC_DIGITS: Final = (76, 38)
"""A Decimal of this precision and scale can hold every NUMERIC and, but for its 77th digit, every BIGNUMERIC."""


@dataclass(frozen=True, slots=True)
class TypeRules:
    """Says how columns are made of schemas. `decimals` is FLOAT, NUMERIC or BIGNUMERIC.

    With `nullable` no column is REQUIRED; with `debezium_integers` Debezium's timestamps are INTEGER. `chosen` holds
    the types of fields by their path, which table.column.types names.
    """

    names: FieldNames
    decimals: ColumnType = ColumnType.FLOAT
    nullable: bool = False
    debezium_integers: bool = False
    chosen: Mapping[str, ColumnType] = field(default_factory=lambda: MappingProxyType({}))


def columns_of(schema: s.Schema, rules: TypeRules, path: str = "") -> tuple[ColumnSchema, ...]:
    """Return the columns of a struct's fields. SchemaError names a field that BigQuery has no type for."""
    return tuple(column_of(f.name, f.schema, rules, f"{path}.{f.name}".lstrip(".")) for f in schema.fields)


def column_of(name: str, schema: s.Schema, rules: TypeRules, path: str) -> ColumnSchema:
    """Return the column of one field."""
    mode = NULLABLE if schema.optional or rules.nullable else REQUIRED
    column = ColumnSchema(rules.names.column(name, path), ColumnType.STRING, mode)
    if path in rules.chosen and schema.type not in _NESTED:
        return replace(column, type=rules.chosen[path])
    if schema.name == s.DECIMAL:
        return replace(column, type=rules.decimals)
    if schema.name in _LOGICAL and not (rules.debezium_integers and schema.name in _DEBEZIUM_TIMESTAMPS):
        return replace(column, type=_LOGICAL[schema.name])
    match schema.type:
        case s.Type.STRUCT:
            if not schema.fields:
                raise SchemaError("BigQuery has no records without members.", field=path)
            return replace(column, type=ColumnType.RECORD, fields=columns_of(schema, rules, path))
        case s.Type.ARRAY:
            assert schema.items is not None
            if schema.items.type in {s.Type.ARRAY, s.Type.MAP}:
                raise SchemaError("BigQuery has no arrays of arrays or of maps.", field=path)
            return replace(column_of(name, schema.items, rules, path), mode=REPEATED)
        case s.Type.MAP:
            assert schema.keys is not None
            assert schema.items is not None
            inner = replace(rules, names=FieldNames(is_sanitizing=False))
            members = (column_of("key", schema.keys, inner, f"{path}.key"),
                       column_of("value", schema.items, replace(rules), f"{path}.value"))  # fmt: skip
            return replace(column, type=ColumnType.RECORD, mode=REPEATED, fields=members)
    return replace(column, type=_SIMPLE[schema.type])


def arrow_type_of(column: ColumnSchema) -> pa.DataType:
    """Return the Arrow type in which a column's values are loaded."""
    import pyarrow as pa

    if column.mode == REPEATED:
        return pa.list_(pa.field("element", arrow_type_of(replace(column, mode=NULLABLE)), nullable=False))
    match column.type:
        case ColumnType.RECORD:
            return pa.struct([pa.field(child.name, arrow_type_of(child)) for child in column.fields])
        case ColumnType.NUMERIC | ColumnType.BIGNUMERIC:
            return _decimal_type(column)
    return _plain_types()[column.type]


@cache
def _plain_types() -> Mapping[ColumnType, pa.DataType]:
    import pyarrow as pa

    return {
        ColumnType.INTEGER: pa.int64(), ColumnType.FLOAT: pa.float64(), ColumnType.BOOLEAN: pa.bool_(),
        ColumnType.STRING: pa.string(), ColumnType.BYTES: pa.binary(), ColumnType.DATE: pa.date32(),
        ColumnType.TIME: pa.time64("us"), ColumnType.DATETIME: pa.timestamp("us"),
        ColumnType.TIMESTAMP: pa.timestamp("us", "UTC"), ColumnType.JSON: pa.string(),
        ColumnType.GEOGRAPHY: pa.string(),
    }  # fmt: skip


def _decimal_type(column: ColumnSchema) -> pa.DataType:
    import pyarrow as pa

    digits, scale = NUMERIC_DIGITS if column.type is ColumnType.NUMERIC else BIGNUMERIC_DIGITS
    if column.precision is not None:
        digits, scale = column.precision, column.scale or 0
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)
