"""Makes the plans by which native code writes and reads Avro records of numbers, texts, bytes and records. Pure.

Native code makes the same bytes as `encode` and the same columns as `decode`. These two do all other schemas, and name
the values that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connect.api import schema as s
from connect.api.schema import Schema, Type
from connect.convert.avro.from_connect import is_union
from connect.convert.avro.model import AvroType
from connect.convert.avro.settings import AvroSettings
from connect.convert.avro.to_connect import nullable_branch

_LEAVES: Final = {
    ("int", Type.INT8): b"i", ("int", Type.INT16): b"i", ("int", Type.INT32): b"i", ("long", Type.INT8): b"i",
    ("long", Type.INT16): b"i", ("long", Type.INT32): b"i", ("long", Type.INT64): b"i", ("float", Type.FLOAT32): b"f",
    ("double", Type.FLOAT64): b"g", ("boolean", Type.BOOLEAN): b"b", ("string", Type.STRING): b"s",
    ("bytes", Type.BYTES): b"s",
}  # fmt: skip
_LOGICAL: Final = {None: None, s.DATE: "date", s.TIME: "time-millis", s.TIMESTAMP: "timestamp-millis"}
_NUMBERS: Final = 1 << 16
_FieldPlan = Callable[[Schema, AvroType], "bytes | None"]


def plan_of(schema: Schema, avro: AvroType, settings: AvroSettings) -> bytes | None:
    """Return the plan that `native.encode_avro` takes; None when native code does not write this record."""
    if avro.kind != "record" or settings.scrub_invalid_names or schema.default is not None:
        return None
    return _value(schema, avro, _field)


def reading_plan_of(schema: Schema, avro: AvroType) -> bytes | None:
    """Return the plan that `native.decode_avro` takes; None when native code does not read this record.

    `schema` is what `connect_of` has made of `avro`.
    """
    return _value(schema, avro, _read_field) if avro.kind == "record" else None


def _read_field(schema: Schema, avro: AvroType) -> bytes | None:
    if avro.kind != "union":
        return _value(schema, avro, _read_field)
    single = nullable_branch(avro)
    return None if single is None else _nullable(avro, _value(schema, single, _read_field))


def _nullable(avro: AvroType, value: bytes | None) -> bytes | None:
    null = 0 if avro.branches[0].kind == "null" else 1
    return None if value is None else b"?" + bytes([2 * null, 2 * (1 - null)]) + value


def _field(schema: Schema, avro: AvroType) -> bytes | None:
    if schema.default is not None:
        return None
    if avro.kind != "union":
        return _value(schema, avro, _field)
    single = nullable_branch(avro)
    return None if single is None or is_union(schema) else _nullable(avro, _value(schema, single, _field))


def _value(schema: Schema, avro: AvroType, field_plan: _FieldPlan) -> bytes | None:
    if schema.type is Type.STRUCT and avro.kind == "record":
        return _record(schema, avro, field_plan)
    leaf = _LEAVES.get((avro.kind, schema.type))
    if leaf is None or (schema.name or None) not in _LOGICAL or avro.logical != _LOGICAL[schema.name or None]:
        return None
    return leaf


def _record(schema: Schema, avro: AvroType, field_plan: _FieldPlan) -> bytes | None:
    places = {field.name: place for place, field in enumerate(schema.fields)}
    if [field.name for field in avro.fields] != list(places) or len(places) >= _NUMBERS:
        return None
    plan = b"r" + len(places).to_bytes(2, "big")
    for place, (field, member) in enumerate(zip(schema.fields, avro.fields, strict=True)):
        inner = field_plan(field.schema, member.type)
        if inner is None:
            return None
        plan += place.to_bytes(2, "big") + inner
    return plan
