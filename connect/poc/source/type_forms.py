"""Says in a few words what a Connect type is in JSON and in Avro. Pure.

The forms are those of JsonConverter of Kafka 4.1 and AvroData of Confluent 8.3.
"""

from __future__ import annotations

from typing import Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.avro.from_connect import avro_of
from connect.convert.avro.model import AvroType
from connect.convert.avro.settings import AvroSettings

_JSON: Final = {
    Type.BOOLEAN: "boolean", Type.STRING: "text", Type.BYTES: "text in base64", Type.FLOAT32: "number",
    Type.FLOAT64: "number", Type.STRUCT: "object",
}  # fmt: skip
_JSON_LOGICAL: Final = {
    s.DECIMAL: "text in base64 of its unscaled digits", s.DATE: "number of days", s.TIME: "number of milliseconds",
    s.TIMESTAMP: "number of milliseconds",
}  # fmt: skip


def in_json(schema: Schema | None) -> str:
    """Return the form that JsonConverter gives by default to values of this schema."""
    if schema is None:
        return "as it is"
    if schema.name in _JSON_LOGICAL:
        return _JSON_LOGICAL[schema.name]
    match schema.type:
        case Type.ARRAY:
            return f"array of {in_json(schema.items)}"
        case Type.MAP:
            assert schema.keys is not None
            is_object = schema.keys.type is Type.STRING and not schema.keys.optional
            return f"{'object' if is_object else 'array of pairs'} of {in_json(schema.items)}"
    return _JSON.get(schema.type, "whole number")


def in_avro(schema: Schema | None) -> str:
    """Return the Avro type that values of this schema get, logical types in brackets."""
    if schema is None:
        return "no schema: AvroConverter makes one"
    try:
        return _named(avro_of(schema.as_optional(False), AvroSettings()))
    except SchemaError as error:
        return f"none: {error.message}"


def _named(avro: AvroType) -> str:
    match avro.kind:
        case "array":
            return f"array of {_named(avro.member)}"
        case "map":
            return f"map of {_named(avro.member)}"
        case "union":
            return " or ".join(_named(branch) for branch in avro.branches if branch.kind != "null")
    if avro.logical == "decimal":
        digits = avro.properties.get("precision"), avro.properties.get("scale")
        return f"{avro.kind} (decimal of {digits[0]} digits, {digits[1]} behind the point)"
    return f"{avro.kind} ({avro.logical})" if avro.logical else avro.kind
