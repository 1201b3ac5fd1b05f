"""Derives the Connect schema of an Avro schema, as Confluent's converter reads it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Field, Schema, Type
from connect.convert.avro import names as n
from connect.convert.avro.defaults import default_from_json
from connect.convert.avro.model import MISSING, AvroType
from connect.convert.avro.settings import AvroSettings
from connect.convert.registry.schema_size import SchemaSize

_TYPES = {"boolean": Type.BOOLEAN, "float": Type.FLOAT32, "double": Type.FLOAT64, "string": Type.STRING}
_SMALL = {"int8": Type.INT8, "int16": Type.INT16}


def connect_of(avro: AvroType, settings: AvroSettings, *, version: int | None = None) -> Schema:
    """Return the Connect schema of an Avro type.

    Its version is the `connect.version` of the Avro schema, or else `version`, the subject's in the registry. A record
    inside of itself becomes `schema.recursive`. SchemaError: Connect has no such type, as for a union of null alone.
    """
    return _Reader(settings).read(avro, version=version)


def is_map_entry(avro: AvroType) -> bool:
    """Tell if a record is the entry of a map whose keys are not text."""
    if avro.kind != "record":
        return False
    return avro.name == n.MAP_ENTRY_NAME or avro.properties.get(n.INTERNAL_TYPE) == n.MAP_ENTRY


def nullable_branch(avro: AvroType) -> AvroType | None:
    """Return the other branch of a union that has two branches, one of them null; None for any other type."""
    others = [branch for branch in avro.branches if branch.kind != "null"]
    return others[0] if avro.kind == "union" and len(avro.branches) == 2 and len(others) == 1 else None


class _Reader:
    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._open: list[AvroType] = []
        self._unions = 0
        self._size = SchemaSize()

    def read(
        self, avro: AvroType, *, optional: bool = False, default: Any = MISSING, version: int | None = None,
        doc: str | None = None,
    ) -> Schema:  # fmt: skip
        if avro.kind == "union":
            single = nullable_branch(avro)
            if single is not None:
                return self.read(single, optional=True, doc=doc)
            if len(avro.branches) == 1 and self._settings.flatten_singleton_unions:
                return self.read(avro.branches[0], doc=doc)
            return self._union(avro, optional=optional)
        if any(avro is outer for outer in self._open):
            return s.recursive(avro.name, optional=optional)
        self._open.append(avro)
        with self._size.one_more():
            base, parameters = self._base(avro)
        self._open.pop()
        return self._annotated(avro, base, parameters, optional=optional, default=default, version=version, doc=doc)

    def _base(self, avro: AvroType) -> tuple[Schema, dict[str, str]]:
        """Return the bare schema, and parameters that its Avro type stands for."""
        match avro.kind:
            case "int":
                return self._int(avro), {}
            case "long":
                return (s.TIMESTAMP_SCHEMA if avro.logical == "timestamp-millis" else s.INT64), {}
            case "bytes" | "fixed":
                base = _decimal(avro) if avro.logical == "decimal" else s.BYTES
                return base, {**base.parameters, **({n.FIXED_SIZE: str(avro.size)} if avro.kind == "fixed" else {})}
            case "array" if is_map_entry(avro.member):
                return self._entries(avro.member), {}
            case "array":
                return s.array(self.read(avro.member)), {}
            case "map":
                return s.map_of(s.STRING, self.read(avro.member)), {}
            case "record":
                return self._record(avro)
            case "enum":
                return s.STRING, self._enum(avro)
            case "null":
                raise SchemaError("Standalone null schemas are not supported by this converter.")
        return Schema(_TYPES[avro.kind]), {}

    def _int(self, avro: AvroType) -> Schema:
        if avro.logical == "date":
            return s.DATE_SCHEMA
        if avro.logical == "time-millis":
            return s.TIME_SCHEMA
        return Schema(_SMALL.get(str(avro.properties.get(n.TYPE)), Type.INT32)) if avro.logical is None else s.INT32

    def _entries(self, entry: AvroType) -> Schema:
        members = {member.name: member.type for member in entry.fields}
        if set(members) != {"key", "value"}:
            raise SchemaError("A map encoded as an array of entries has other fields than 'key' and 'value'.")
        return s.map_of(self.read(members["key"]), self.read(members["value"]))

    def _record(self, avro: AvroType) -> tuple[Schema, dict[str, str]]:
        keep_docs = self._settings.meta_data and not self._settings.discard_type_doc_default
        parameters = {n.RECORD_DOC: avro.doc} if keep_docs and avro.doc is not None else {}
        fields = []
        for member in avro.fields:
            if keep_docs and member.doc is not None:
                parameters[n.FIELD_DOC + member.name] = member.doc
            schema = self.read(member.type, default=member.default, doc=member.doc)
            fields.append(Field(member.name, schema))
        return Schema(Type.STRUCT, fields=tuple(fields)), parameters

    def _enum(self, avro: AvroType) -> dict[str, str]:
        parameters = {}
        if self._settings.meta_data and avro.doc is not None:
            discard = self._settings.discard_type_doc_default
            parameters[n.ENUM_DOC_PARAMETER if discard else n.ENUM_DOC + avro.short_name] = avro.doc
        if self._settings.meta_data and avro.default is not None:
            parameters[n.ENUM_DEFAULT + avro.short_name] = avro.default
        generalized = self._settings.generalized_sum_types
        name = n.GENERALIZED_ENUM if generalized else n.ENUM
        parameters[name] = avro.name
        return parameters | {
            f"{name}.{symbol}": str(i) if generalized else symbol for i, symbol in enumerate(avro.symbols)
        }

    def _union(self, avro: AvroType, *, optional: bool) -> Schema:
        fields: dict[str, Schema] = {}
        for index, branch in enumerate(avro.branches):
            if branch.kind == "null":
                optional = True
                continue
            name = self.branch_name(branch, index)
            if name in fields:
                raise SchemaError(f"Multiple union schemas map to the Connect union field name {name!r}.")
            with self._size.one_more():
                fields[name] = self.read(branch, optional=True)
        if not fields:
            raise SchemaError("Standalone null schemas are not supported by this converter.")
        name, parameters = n.UNION, {}
        if self._settings.generalized_sum_types:
            name = f"{n.GENERALIZED_UNION_PREFIX}{self._unions}"
            parameters = {n.GENERALIZED_UNION: name}
            self._unions += 1
        made = s.struct(fields, name=name, optional=optional)
        return Schema(**{**_members(made), "parameters": MappingProxyType(parameters)})

    def branch_name(self, branch: AvroType, index: int) -> str:
        """Return the name of the field that stands for a branch of a union."""
        if self._settings.generalized_sum_types:
            return f"{n.GENERALIZED_FIELD_PREFIX}{index}"
        if branch.name:
            return branch.name if self._settings.enhanced else branch.short_name
        return branch.kind

    def _annotated(
        self, avro: AvroType, base: Schema, parameters: dict[str, str], *, optional: bool, default: Any,
        version: int | None, doc: str | None,
    ) -> Schema:  # fmt: skip
        properties, meta = avro.properties, self._settings.meta_data
        parameters = {**base.parameters, **parameters}
        if meta and isinstance(properties.get(n.PARAMETERS), Mapping):
            parameters |= {str(k): str(v) for k, v in properties[n.PARAMETERS].items()}
        parameters |= {k: str(v) for k, v in properties.items() if k.startswith("avro")}
        connect_default = properties.get(n.DEFAULT)
        if default is MISSING:
            default = connect_default
        elif meta and connect_default is None and not self._settings.discard_type_doc_default:
            parameters[n.FIELD_DEFAULT] = "true"
        if connect_default is not None:
            default = connect_default
        if self._settings.discard_type_doc_default:
            doc = doc or avro.doc or properties.get(n.DOC)
        else:
            doc = properties.get(n.DOC) if meta else None
        made = Schema(**{
            **_members(base), "optional": optional, "name": _name(avro, base), "doc": doc,
            "version": properties.get(n.VERSION, base.version if base.version is not None else version),
            "parameters": MappingProxyType(parameters),
        })  # fmt: skip
        return made if default is None else Schema(**{**_members(made), "default": _default(made, default)})


def _members(schema: Schema) -> dict[str, Any]:
    return {name: getattr(schema, name) for name in schema.__dataclass_fields__}


def _default(schema: Schema, node: Any) -> Any:
    """Return the default; None for one that does not fit, as Java ignores it too; nothing is read from it."""
    try:
        return default_from_json(schema, node)
    except SchemaError:
        return None


def _decimal(avro: AvroType) -> Schema:
    precision = avro.properties.get("precision", n.DECIMAL_PRECISION_DEFAULT)
    scale = avro.properties.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        raise SchemaError("The precision and the scale of an Avro decimal must be JSON integers.")
    return s.decimal(scale, precision=None if precision == n.DECIMAL_PRECISION_DEFAULT else precision)


def _name(avro: AvroType, base: Schema) -> str | None:
    name = avro.properties.get(n.NAME)
    if name is None and avro.name and not (avro.kind == "fixed" and base.name == s.DECIMAL):
        name = avro.name
    if not isinstance(name, str) or name.startswith(n.DEFAULT_NAME):
        return base.name
    if base.name is not None and base.name != name:
        raise SchemaError(f"The Avro schema is called {name!r}, but its logical type stands for {base.name!r}.")
    return name
