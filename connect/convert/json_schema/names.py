"""Holds the words that Confluent's JSON Schema converter writes.

Source: io.confluent.connect.json.JsonSchemaData 8.3.
"""

from __future__ import annotations

from typing import Final

from connect.api.schema import Schema, Type

NAMESPACE: Final = "io.confluent.connect.json"
ENUM, ONE_OF = f"{NAMESPACE}.Enum", f"{NAMESPACE}.OneOf"
GENERALIZED_UNION, GENERALIZED_ENUM = "org.apache.kafka.connect.data.Union", "org.apache.kafka.connect.data.Enum"
GENERALIZED_UNION_PREFIX, GENERALIZED_FIELD_PREFIX = "connect_union_", "connect_union_field_"
NULL_MARKER: Final = "<NULL>"
TYPE, VERSION, PARAMETERS, INDEX = "connect.type", "connect.version", "connect.parameters", "connect.index"


def is_union(schema: Schema) -> bool:
    """Tell if a struct stands for `oneOf`: it has one field per member, of which one has a value."""
    named = schema.name is not None and schema.name.startswith(ONE_OF)
    return schema.type is Type.STRUCT and (named or GENERALIZED_UNION in schema.parameters)


def is_object_map(schema: Schema) -> bool:
    """Tell if a map is written as a JSON object; other maps are arrays of objects with `key` and `value`."""
    return schema.keys is not None and schema.keys.type is Type.STRING and not schema.keys.optional


def is_plain(schema: Schema) -> bool:
    """Tell if Kafka's JsonConverter writes the same JSON: no union is in the schema, and every map has text as keys."""
    inner = [f.schema for f in schema.fields] + [part for part in (schema.keys, schema.items) if part is not None]
    odd = is_union(schema) or (schema.type is Type.MAP and not is_object_map(schema))
    return not odd and all(map(is_plain, inner))
