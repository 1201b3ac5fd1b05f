"""Maps CQL's types to Connect schemas: each holds every value of its type. Pure.

| CQL | Connect |
| --- | --- |
| tinyint, smallint, int, bigint, counter | int8, int16, int32, int64, int64 |
| float, double, boolean, blob | float32, float64, boolean, bytes |
| ascii, text, inet, uuid, timeuuid | string |
| decimal, varint | string: every value of a decimal has its own scale, and neither has a largest one |
| timestamp, date, time | io.debezium.time.Timestamp, Date, NanoTime: numbers, whole beyond the year 9999 too |
| duration | struct of months, days, nanoseconds |
| list, set, vector | array |
| map | map |
| tuple | struct of field1, field2 … |
| user-defined type | struct of its fields |
| a type of a Java class | bytes, as they are stored |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from connect.api import schema as s
from connect.api.time_types import TIME_TYPES
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.tables import Table, TableColumn

DURATION: Final = s.struct(
    {"months": s.INT32, "days": s.INT32, "nanoseconds": s.INT64}, name="connect.cassandra.Duration"
)
_SIMPLE: Final[Mapping[str, s.Schema]] = {
    "ascii": s.STRING, "text": s.STRING, "inet": s.STRING, "uuid": s.STRING, "timeuuid": s.STRING,
    "decimal": s.STRING, "varint": s.STRING,
    "tinyint": s.INT8, "smallint": s.INT16, "int": s.INT32, "bigint": s.INT64, "counter": s.INT64,
    "float": s.FLOAT32, "double": s.FLOAT64, "boolean": s.BOOLEAN, "blob": s.BYTES,
    "empty": s.BYTES, "custom": s.BYTES,
    "timestamp": TIME_TYPES["Timestamp"], "date": TIME_TYPES["Date"], "time": TIME_TYPES["NanoTime"],
    "duration": DURATION,
}  # fmt: skip


def connect_schema(cql: CqlType) -> s.Schema:
    """Return the schema of a type's values. It is optional, as any value may be null, also inside of a collection."""
    parameters = [connect_schema(parameter) for parameter in cql.parameters]
    match cql.name:
        case "list" | "set" | "vector":
            return s.array(parameters[0], optional=True)
        case "map":
            return s.map_of(parameters[0].as_optional(False), parameters[1], optional=True)
        case "tuple":
            return s.struct({f"field{i}": p for i, p in enumerate(parameters, 1)}, optional=True)
        case "udt":
            return s.struct(dict(zip(cql.fields, parameters, strict=True)), name=cql.title, optional=True)
    return _SIMPLE[cql.name].as_optional()


def columns_schema(columns: Sequence[TableColumn], name: str) -> s.Schema:
    """Return a struct's schema with a field per column."""
    return s.struct({column.name: connect_schema(column.type) for column in columns}, name=name)


def key_schema(table: Table) -> s.Schema:
    """Return the key of a row; its clustering columns are null where a partition has nothing but static values."""
    return columns_schema(table.primary_key, f"{table.title}.Key")
