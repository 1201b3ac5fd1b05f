"""Derives the Avro schema of a Connect schema, as Confluent's converter registers it. Pure."""

from __future__ import annotations

import math
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.avro import names as n
from connect.convert.avro.defaults import default_to_json
from connect.convert.avro.model import MISSING, AvroField, AvroType
from connect.convert.avro.settings import AvroSettings

_KINDS = {
    Type.INT8: "int", Type.INT16: "int", Type.INT32: "int", Type.INT64: "long", Type.FLOAT32: "float",
    Type.FLOAT64: "double", Type.BOOLEAN: "boolean", Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_LOGICAL = {s.DATE: "date", s.TIME: "time-millis", s.TIMESTAMP: "timestamp-millis"}


def avro_of(schema: Schema, settings: AvroSettings) -> AvroType:
    """Return the Avro type of a Connect schema.

    SchemaError when a name is not valid in Avro, or two types would share one.
    """
    return _Builder(settings).build(schema)


def is_union(schema: Schema) -> bool:
    """Tell if a struct stands for an Avro union: it has one field per branch, of which one has a value."""
    return schema.type is Type.STRUCT and (schema.name == n.UNION or n.GENERALIZED_UNION in schema.parameters)


def is_string_map(schema: Schema, settings: AvroSettings) -> bool:
    """Tell if a map becomes an Avro map; other maps become arrays of entries."""
    assert schema.keys is not None
    return schema.keys.type is Type.STRING and (not schema.keys.optional or settings.allow_optional_map_keys)


class _Builder:
    """Builds the Avro type of one schema and remembers the names that it has given."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._unnamed = 0
        self._entries = 0
        self._made: dict[Schema, AvroType] = {}
        self._open: dict[str, AvroType] = {}

    def build(self, schema: Schema, *, ignore_optional: bool = False) -> AvroType:
        if is_union(schema):
            return self._union(schema)
        required = schema.as_optional(False)
        base = self._outer(schema) or self._made.get(required)
        if base is None:
            base = self._base(required)
            base.properties = {**base.properties, **self._annotations(schema)}
            self._made[required] = base
        if ignore_optional or not schema.optional:
            return base
        null = AvroType("null")
        return AvroType("union", branches=(null, base) if schema.default is None else (base, null))

    def _outer(self, schema: Schema) -> AvroType | None:
        """Return the record that holds a value of its own type, as long as that record has the name it was read by."""
        return self._open.get(schema.parameters["type"]) if schema.name == s.RECURSIVE else None

    def _base(self, schema: Schema) -> AvroType:
        match schema.type:
            case Type.STRUCT:
                return self._record(schema)
            case Type.ARRAY:
                assert schema.items is not None
                return AvroType("array", items=self.build(schema.items))
            case Type.MAP:
                return self._map(schema)
            case Type.STRING if (enum := self._enum_parameter(schema)) is not None:
                return self._enum(schema, enum)
            case Type.BYTES if n.FIXED_SIZE in schema.parameters:
                return AvroType("fixed", self._name(schema.name), size=int(schema.parameters[n.FIXED_SIZE]))
        return AvroType(_KINDS[schema.type])

    def _record(self, schema: Schema) -> AvroType:
        discard = self._settings.discard_type_doc_default
        doc = schema.parameters.get(n.RECORD_DOC_PARAMETER if discard else n.RECORD_DOC)
        record = AvroType("record", self._name(schema.name), doc)
        self._open[record.name] = record
        given: dict[str, str] = {}
        for member in schema.fields:
            name = n.scrubbed(member.name) if self._settings.scrub_invalid_names else member.name
            if name != n.scrubbed(name):
                raise SchemaError(
                    f"{name!r} is no name in Avro (letters, digits and _).", field=member.name,
                    fix="Rename the field with ReplaceField, or set value.converter.scrub.invalid.names=true.",
                )  # fmt: skip
            if name in given:
                raise SchemaError(
                    f"The fields {given[name]!r} and {member.name!r} have one name in Avro, {name}.", field=member.name,
                    fix="Rename one of them with ReplaceField.",
                )  # fmt: skip
            given[name] = member.name
            field_doc = member.schema.doc if discard else schema.parameters.get(n.FIELD_DOC + member.name)
            record.fields.append(self._field(name, member.schema, field_doc))
        del self._open[record.name]
        return record

    def _field(self, name: str, schema: Schema, doc: str | None = None) -> AvroField:
        default: Any = MISSING
        if schema.default is not None and not is_union(schema) and _has_json(schema.default):
            default = default_to_json(schema, schema.default)
        elif schema.optional and schema.default is None:
            default = None
        return AvroField(name, self.build(schema), doc, default)

    def _map(self, schema: Schema) -> AvroType:
        assert schema.keys is not None
        assert schema.items is not None
        if is_string_map(schema, self._settings):
            return AvroType("map", items=self.build(schema.items))
        if schema.name is None:
            self._entries += 1
            name = n.MAP_ENTRY_NAME + (str(self._entries) if self._entries > 1 else "")
        else:
            name = self._name(schema.name)
        entry = AvroType("record", name)
        if name != n.MAP_ENTRY_NAME:
            entry.properties = {n.INTERNAL_TYPE: n.MAP_ENTRY}
        entry.fields = [self._field("key", schema.keys), self._field("value", schema.items)]
        return AvroType("array", items=entry)

    def _union(self, schema: Schema) -> AvroType:
        branches = [self.build(member.schema.as_optional(False), ignore_optional=True) for member in schema.fields]
        return AvroType("union", branches=(*([AvroType("null")] if schema.optional else []), *branches))

    def _enum_parameter(self, schema: Schema) -> str | None:
        if self._settings.generalized_sum_types and n.GENERALIZED_ENUM in schema.parameters:
            return n.GENERALIZED_ENUM
        return n.ENUM if self._settings.enhanced and n.ENUM in schema.parameters else None

    def _enum(self, schema: Schema, parameter: str) -> AvroType:
        symbols = tuple(k.removeprefix(f"{parameter}.") for k in schema.parameters if k.startswith(f"{parameter}."))
        name = schema.parameters[parameter]
        short = (schema.name or "").rpartition(".")[2]
        doc, default = (schema.parameters.get(prefix + short) for prefix in (n.ENUM_DOC, n.ENUM_DEFAULT))
        return AvroType("enum", name, doc, symbols=symbols, default=default)

    def _name(self, name: str | None) -> str:
        if name is None:
            self._unnamed += 1
            return n.DEFAULT_NAME + (str(self._unnamed) if self._unnamed > 1 else "")
        valid = n.scrubbed_full(name)
        if valid != name and not self._settings.scrub_invalid_names:
            raise SchemaError(
                f"The schema name {name!r} is no name in Avro (letters, digits, _ and dots).",
                fix="Set it with SetSchemaMetadata, or set value.converter.scrub.invalid.names=true.",
            )
        return valid

    def _annotations(self, schema: Schema) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if schema.name == s.DECIMAL:
            made |= {"scale": schema.decimal_scale, "precision": _precision(schema)}
        if self._settings.meta_data:
            made |= self._meta_data(schema)
        if schema.name == s.DECIMAL:
            made["logicalType"] = "decimal"
        elif schema.name in _LOGICAL:
            made["logicalType"] = _LOGICAL[schema.name]
        return made | {k: v for k, v in schema.parameters.items() if k.startswith("avro")}

    def _meta_data(self, schema: Schema) -> dict[str, Any]:
        parameters = {k: v for k, v in schema.parameters.items() if k != n.FIELD_DEFAULT}
        made: dict[str, Any] = {
            n.DOC: schema.doc, n.VERSION: schema.version, n.PARAMETERS: parameters or None, n.NAME: schema.name,
            n.TYPE: schema.type.value if schema.type in {Type.INT8, Type.INT16} else None,
        }  # fmt: skip
        if schema.default is not None and n.FIELD_DEFAULT not in schema.parameters:
            made[n.DEFAULT] = default_to_json(schema, schema.default)
        return {key: value for key, value in made.items() if value is not None}


def _precision(schema: Schema) -> int:
    return int(schema.parameters.get(s.PRECISION_PARAMETER, n.DECIMAL_PRECISION_DEFAULT))


def _has_json(default: object) -> bool:
    """Tell if a default has a form in JSON, which has no NaN; one without is kept in the property alone."""
    return not isinstance(default, float) or math.isfinite(default)
