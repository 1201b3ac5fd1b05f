"""Holds the words of Confluent's Protobuf converter. Source: io.confluent.connect.protobuf.ProtobufData 8.3."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from connect.api import schema as s
from connect.api.schema import Schema, Type

NAMESPACE: Final = "io.confluent.connect.protobuf"
DEFAULT_NAME: Final = "ConnectDefault"
TAG, TYPE, ENUM = f"{NAMESPACE}.Tag", f"{NAMESPACE}.Type", f"{NAMESPACE}.Enum"
UNION_PREFIX: Final = f"{NAMESPACE}.Union."
GENERALIZED_UNION, GENERALIZED_ENUM = "org.apache.kafka.connect.data.Union", "org.apache.kafka.connect.data.Enum"
CONNECT_TYPE: Final = "connect.type"
CONNECT_NAME: Final = "connect.name"
"""This parameter is ours, for Debezium's time types. Confluent's converter writes no names of numbers and texts."""

DECIMAL, DATE = "confluent.type.Decimal", "google.type.Date"
TIME, TIMESTAMP = "google.type.TimeOfDay", "google.protobuf.Timestamp"
LOCATIONS: Final = MappingProxyType(
    {
        DECIMAL: "confluent/type/decimal.proto", DATE: "google/type/date.proto", TIME: "google/type/timeofday.proto",
        TIMESTAMP: "google/protobuf/timestamp.proto",
    }
)  # fmt: skip
"""Tells where the messages of the logical types are defined."""
WRAPPERS: Final = "google/protobuf/wrappers.proto"
META: Final = "confluent/meta.proto"
LOGICAL: Final = MappingProxyType({s.DECIMAL: DECIMAL, s.DATE: DATE, s.TIME: TIME, s.TIMESTAMP: TIMESTAMP})

WRAPPED: Final = MappingProxyType(
    {
        "google.protobuf.DoubleValue": s.FLOAT64, "google.protobuf.FloatValue": s.FLOAT32,
        "google.protobuf.Int64Value": s.INT64, "google.protobuf.UInt64Value": s.INT64,
        "google.protobuf.Int32Value": s.INT32, "google.protobuf.UInt32Value": s.INT64,
        "google.protobuf.BoolValue": s.BOOLEAN, "google.protobuf.StringValue": s.STRING,
        "google.protobuf.BytesValue": s.BYTES,
    }
)  # fmt: skip


def is_union(schema: Schema) -> bool:
    """Tell if a struct stands for a oneof."""
    named = schema.name is not None and schema.name.startswith(UNION_PREFIX)
    return schema.type is Type.STRUCT and (named or GENERALIZED_UNION in schema.parameters)
