"""Derives the Connect schema of a JSON Schema, as Confluent's converter reads it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from operator import itemgetter
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Field, Schema, Type
from connect.convert.json.read import Reading, reader
from connect.convert.json_schema import names as n
from connect.convert.json_schema.settings import JsonSchemaSettings
from connect.convert.registry.schema_size import SchemaSize

_NUMBERS = {
    "int8": s.INT8, "int16": s.INT16, "int32": s.INT32, "int64": s.INT64, "float32": s.FLOAT32,
    "float64": s.FLOAT64, "bytes": s.BYTES,
}  # fmt: skip


def connect_of(
    document: Any, others: Mapping[str, Any], settings: JsonSchemaSettings, *, version: int | None = None
) -> Schema:
    """Return the Connect schema; `others` are the schemas that are referred to, by name.

    Where a schema holds itself it has `schema.recursive`. SchemaError for one that says nothing of a type.
    """
    return _Reader(document, others, settings).read(document, "", version=version)


class _Reader:
    def __init__(self, document: Any, others: Mapping[str, Any], settings: JsonSchemaSettings) -> None:
        self._root = document
        self._others = others
        self._settings = settings
        self._open: list[str] = ["#"]
        self._unions = 0
        self._size = SchemaSize()

    def read(self, node: Any, path: str, *, optional: bool = False, version: int | None = None) -> Schema:
        with self._size.one_more():
            return self._read(node, path, optional=optional, version=version)

    def _read(self, node: Any, path: str, *, optional: bool, version: int | None) -> Schema:
        if not isinstance(node, Mapping):
            raise SchemaError("The JSON Schema says nothing of the type here.", field=path)
        if "$ref" in node:
            return self._referred(node["$ref"], path, optional=optional, version=version)
        members = next((node[word] for word in ("oneOf", "anyOf") if word in node), None)
        if members is not None:
            return self._one_of(node, members, path, optional=optional, version=version)
        if "allOf" in node:
            return self.read(self._merged(node), path, optional=optional, version=version)
        kind = node.get("type")
        if isinstance(kind, list):
            named = [{**node, "type": one} for one in kind]
            if len(named) == 1:
                return self.read(named[0], path, optional=optional, version=version)
            return self._one_of({}, [{"type": "null"} if x["type"] == "null" else x for x in named], path,
                                optional=optional, version=version)  # fmt: skip
        return self._annotated(node, self._base(node, path), optional=optional, version=version)

    def _base(self, node: Mapping[str, Any], path: str) -> Schema:
        connect = node.get(n.TYPE)
        if node.get("title") == s.RECURSIVE:
            return s.recursive("")
        if "enum" in node or "const" in node:
            return self._enum(node.get("enum", [node.get("const")]), node)
        match _kind(node):
            case "boolean":
                return s.BOOLEAN
            case "integer":
                return _number(connect, s.INT64, path)
            case "number":
                return _number(connect, s.FLOAT64, path)
            case "string":
                return s.BYTES if connect == "bytes" else s.STRING
            case "array":
                return self._array(node, connect, path)
            case "object" if connect == "map":
                return s.map_of(s.STRING, self.read(node.get("additionalProperties"), f"{path}.value"))
            case "object":
                return self._struct(node, path)
        raise SchemaError(f"The JSON Schema has no type that Connect knows here: {json.dumps(node)[:100]}", field=path)

    def _array(self, node: Mapping[str, Any], connect: object, path: str) -> Schema:
        items = node.get("items")
        if connect == "map" and isinstance(items, Mapping) and "properties" in items:
            entry = items["properties"]
            return s.map_of(self.read(entry.get("key"), f"{path}.key"), self.read(entry.get("value"), f"{path}.value"))
        return s.array(self.read(items, f"{path}[]"))

    def _struct(self, node: Mapping[str, Any], path: str) -> Schema:
        required = frozenset(node.get("required", ()))
        placed: list[tuple[int, str, Any]] = []
        taken: set[int] = set()
        for name, member in node.get("properties", {}).items():
            index = member.get(n.INDEX) if isinstance(member, Mapping) else None
            place = index if isinstance(index, int) else _free(taken)
            taken.add(place)
            placed.append((place, name, member))
        fields = []
        # Two may have one place, as where a person added a property. Confluent's converter loses the first of them.
        for _, name, member in sorted(placed, key=itemgetter(0)):
            optional = self._settings.optional_for_nonrequired and name not in required
            fields.append(Field(name, self.read(member, f"{path}.{name}".lstrip("."), optional=optional)))
        return s.struct(fields)

    def _one_of(
        self, node: Mapping[str, Any], members: list[Any], path: str, *, optional: bool, version: int | None
    ) -> Schema:
        others = [member for member in members if not _is_null(member)]
        if len(members) == 1 and self._settings.flatten_singleton_unions:
            return self.read(members[0], path, optional=optional, version=version)
        if len(members) == 2 and len(others) == 1:
            return self.read(others[0], path, optional=True, version=version)
        name, parameters = n.ONE_OF, {}
        if self._settings.generalized_sum_types:
            name = f"{n.GENERALIZED_UNION_PREFIX}{self._unions}"
            parameters = {n.GENERALIZED_UNION: name}
            self._unions += 1
        prefix = n.GENERALIZED_FIELD_PREFIX if parameters else f"{name}.field."
        fields = [Field(f"{prefix}{i}", self.read(x, path, optional=True)) for i, x in enumerate(others)]
        made = replace(s.struct(fields, name=name), parameters=MappingProxyType(parameters))
        return self._annotated({**node, "title": None}, made, optional=optional or len(others) < len(members),
                               version=version)  # fmt: skip

    def _merged(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """Return the members of `allOf` merged to one schema; their properties are added up."""
        merged: dict[str, Any] = {k: v for k, v in node.items() if k != "allOf"}
        for member in node["allOf"]:
            part = self._target(member["$ref"]) if isinstance(member, Mapping) and "$ref" in member else member
            with self._size.one_more():
                part = self._merged(part) if "allOf" in part else part
            for word, value in part.items():
                match word:
                    case "properties":
                        merged[word] = {**merged.get(word, {}), **value}
                    case "required":
                        merged[word] = [*merged.get(word, ()), *value]
                    case _:
                        merged.setdefault(word, value)
        return merged

    def _referred(self, reference: str, path: str, *, optional: bool, version: int | None) -> Schema:
        if reference in self._open:
            return s.recursive(reference, optional=optional or _may_be_null(self._target(reference)))
        self._open.append(reference)
        made = self.read(self._target(reference), path, optional=optional, version=version)
        self._open.pop()
        return made

    def _target(self, reference: str) -> Any:
        name, _, pointer = reference.partition("#")
        node: Any = self._root if not name else self._others.get(name)
        try:
            for part in filter(None, pointer.split("/")):
                step = unquote(part).replace("~1", "/").replace("~0", "~")
                node = node[int(step)] if isinstance(node, list) else node[step]
        except (KeyError, IndexError, ValueError, TypeError):
            node = None
        if node is None:
            raise SchemaError(
                f"The JSON Schema refers to {reference!r}, which there is not.",
                fix="Register the schema with a reference to the one that defines it.",
            )
        return node

    def _enum(self, values: list[Any], node: Mapping[str, Any]) -> Schema:
        if _kind(node) in {"integer", "number", "boolean"}:
            return self._base({k: v for k, v in node.items() if k not in {"enum", "const"}}, "")
        name = n.GENERALIZED_ENUM if self._settings.generalized_sum_types else n.ENUM
        symbols = [n.NULL_MARKER if value is None else str(value) for value in values]
        numbered = self._settings.generalized_sum_types
        marks = {f"{name}.{symbol}": str(i) if numbered else symbol for i, symbol in enumerate(symbols)}
        return Schema(Type.STRING, parameters=MappingProxyType({name: "", **marks}))

    def _annotated(self, node: Mapping[str, Any], base: Schema, *, optional: bool, version: int | None) -> Schema:
        given = node.get(n.PARAMETERS) or {}
        parameters = {**base.parameters, **{str(k): str(v) for k, v in given.items()}}
        made = replace(
            base, optional=optional, name=base.name or node.get("title"), version=node.get(n.VERSION, version),
            doc=node.get("description"), parameters=MappingProxyType(parameters),
        )  # fmt: skip
        if node.get("default") is None:
            return made
        return replace(made, default=_default(made, node["default"]))


def _default(schema: Schema, value: Any) -> Any:
    node = json.loads(json.dumps(value), parse_float=Decimal)
    return reader(schema, Reading())(node)


def _number(connect: object, otherwise: Schema, path: str) -> Schema:
    if connect is None:
        return otherwise
    found = _NUMBERS.get(str(connect))
    if found is None:
        raise SchemaError(f"Unsupported type {connect}", field=path)
    return found


def _kind(node: Mapping[str, Any]) -> str | None:
    """Return the type of a JSON Schema, or else the type that its other words imply; None when they imply none."""
    kind = node.get("type")
    if isinstance(kind, str):
        return kind
    if "properties" in node or "additionalProperties" in node:
        return "object"
    return "array" if "items" in node else None


def _is_null(node: Any) -> bool:
    return isinstance(node, Mapping) and node.get("type") == "null"


def _may_be_null(node: Any) -> bool:
    members = next((node[word] for word in ("oneOf", "anyOf") if word in node), ())
    kinds = node.get("type")
    return any(map(_is_null, members)) or (isinstance(kinds, list) and "null" in kinds)


def _free(taken: set[int]) -> int:
    index = len(taken)
    while index in taken:
        index += 1
    return index
