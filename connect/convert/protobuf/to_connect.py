"""Derives the Connect schema of a Protobuf message, as Confluent's converter reads it. Pure."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Field, Schema, Type
from connect.api.time_types import time_type
from connect.convert.protobuf import names as n
from connect.convert.protobuf.model import ProtoField, ProtoMessage
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.registry.schema_size import SchemaSize

_SMALL = {"int8": s.INT8, "int16": s.INT16}
_KINDS = {
    "int32": s.INT32, "sint32": s.INT32, "sfixed32": s.INT32, "float": s.FLOAT32, "double": s.FLOAT64,
    "bool": s.BOOLEAN, "string": s.STRING, "bytes": s.BYTES,
}  # fmt: skip


def connect_of(message: ProtoMessage, settings: ProtobufSettings, *, version: int | None = None) -> Schema:
    """Return the Connect schema of a message. Where a message holds itself it has `schema.recursive`."""
    return replace(_Reader(settings).message(message), version=version)


def is_map(field: ProtoField) -> bool:
    """Tell if a field is a map, even one that is written out as a list of entries."""
    message = field.message
    if not field.repeated or message is None:
        return False
    if message.is_map_entry:
        return True
    names = [f.name for f in message.fields]
    plain = not any(f.repeated for f in message.fields)
    return message.name.endswith("Entry") and names == ["key", "value"] and plain


def union_field_name(message: ProtoMessage, oneof: str, settings: ProtobufSettings) -> str:
    """Return the name of the field that stands for a oneof."""
    return f"{oneof}_{message.oneofs.index(oneof)}" if settings.index_for_unions else oneof


class _Reader:
    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._open: list[ProtoMessage] = []
        self._size = SchemaSize()

    def message(self, message: ProtoMessage) -> Schema:
        if any(message is outer for outer in self._open):
            return s.recursive(message.name)
        self._open.append(message)
        fields = []
        for oneof in message.oneofs:
            members = [Field(f.name, self.field(f)) for f in message.fields if f.oneof == oneof]
            if self._settings.flatten_unions:
                fields += members
            else:
                name = union_field_name(message, oneof, self._settings)
                fields.append(Field(name, self._union(message, oneof, members)))
        fields += [Field(f.name, self.field(f)) for f in message.fields if f.oneof is None]
        self._open.pop()
        return s.struct(fields, name=message.name if self._settings.enhanced else message.short_name)

    def field(self, field: ProtoField) -> Schema:
        with self._size.one_more():
            base = _named(self._base(field), field)
        if field.repeated and not is_map(field):
            base = s.array(base.as_optional(), optional=True)
        parameters = {**base.parameters, n.TAG: str(field.number)}
        return replace(base, optional=self._optional(field, base), parameters=MappingProxyType(parameters))

    def _optional(self, field: ProtoField, base: Schema) -> bool:
        settings = self._settings
        if base.optional or field.oneof is not None or field.kind in {"message", "enum"}:
            return True
        if settings.optional_for_nullables:
            return field.optional
        return not settings.wrapper_for_nullables

    def _base(self, field: ProtoField) -> Schema:
        if field.kind == "enum":
            return self._enum(field)
        if field.kind == "message":
            return self._embedded(field)
        if field.kind in {"int32", "sint32", "sfixed32"} and field.parameters.get(n.CONNECT_TYPE) in _SMALL:
            return _SMALL[field.parameters[n.CONNECT_TYPE]]
        base = _KINDS.get(field.kind, s.INT64)
        if field.kind in {"int32", "int64"} or base.type not in {Type.INT32, Type.INT64}:
            return base
        return replace(base, parameters=MappingProxyType({n.TYPE: field.kind}))

    def _embedded(self, field: ProtoField) -> Schema:
        message = field.message
        if message is None:
            raise SchemaError(f"The type of the field {field.name!r} is not defined.")
        match message.name:
            case n.DECIMAL:
                precision = field.parameters.get("precision")
                scale = int(field.parameters.get("scale", "0"))
                return s.decimal(scale, precision=None if precision is None else int(precision))
            case n.DATE:
                return s.DATE_SCHEMA
            case n.TIME:
                return s.TIME_SCHEMA
            case n.TIMESTAMP:
                return s.TIMESTAMP_SCHEMA
        if self._settings.wrapper_for_nullables and message.name in n.WRAPPED:
            return n.WRAPPED[message.name].as_optional()
        if is_map(field):
            key, value = message.entry()
            return replace(s.map_of(self.field(key), self.field(value)), name=_map_name(message, self._settings))
        return self.message(message)

    def _enum(self, field: ProtoField) -> Schema:
        enum = field.enum
        if enum is None:
            raise SchemaError(f"The enum of the field {field.name!r} is not defined.")
        parameter = self._settings.enum_parameter
        marks = {f"{parameter}.{symbol}": str(number) for symbol, number in enum.symbols.items()}
        return Schema(
            Type.INT32 if self._settings.int_for_enums else Type.STRING, optional=True,
            name=enum.name if self._settings.enhanced else enum.short_name,
            parameters=MappingProxyType({parameter: enum.short_name, **marks}),
        )  # fmt: skip

    def _union(self, message: ProtoMessage, oneof: str, members: list[Field]) -> Schema:
        if self._settings.generalized_sum_types:
            marks = MappingProxyType({n.GENERALIZED_UNION: oneof})
            return replace(s.struct(members, name=oneof, optional=True), parameters=marks)
        name = f"{message.name}.{oneof}" if self._settings.enhanced else oneof
        return s.struct(members, name=n.UNION_PREFIX + name, optional=True)


def _named(base: Schema, field: ProtoField) -> Schema:
    """Return one of Debezium's types of times, where the field says so and has the type's base; else the base."""
    named = time_type(field.parameters.get(n.CONNECT_NAME))
    if named is None or base.name is not None or named.type is not base.type:
        return base
    return replace(base, name=named.name, version=named.version)


def _map_name(message: ProtoMessage, settings: ProtobufSettings) -> str:
    """Return the name of the field whose entry a message is: `CountsEntry` is the entry of the field `counts`."""
    name = (message.name if settings.enhanced else message.short_name).removesuffix("Entry")
    space, dot, last = name.rpartition(".")
    snake = "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(last))
    return f"{space}{dot}{snake}"
