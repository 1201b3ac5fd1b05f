"""Represents an Avro schema as a tree, and writes its JSON text. Source: the Avro 1.11 specification. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

from connect.api.errors import SchemaError

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_STRUCTURE: Final = frozenset(
    {"type", "name", "namespace", "fields", "items", "values", "symbols", "size", "doc", "aliases", "default"}
)
MISSING: Final = object()
"""A field without a default has this in its place, as None stands for the default null."""


@dataclass(slots=True)
class AvroField:
    """Holds a field of an Avro record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Any = MISSING
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class AvroType:
    """Holds a type of an Avro schema. `kind` is a primitive, record, enum, array, map, fixed or union.

    `name` is the full name, `items` the type of an array's items or a map's values, `branches` are the types of a
    union. `default` is the default symbol of an enum.
    """

    kind: str
    name: str = ""
    doc: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    items: AvroType | None = None
    branches: tuple[AvroType, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    default: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def logical(self) -> str | None:
        """Return the logical type in lower case; None when there is none."""
        name = self.properties.get("logicalType")
        return name.lower() if isinstance(name, str) else None

    @property
    def short_name(self) -> str:
        """Return the name without its namespace."""
        return self.name.rpartition(".")[2]

    @property
    def member(self) -> AvroType:
        """Return the type of an array's items or of a map's values."""
        assert self.items is not None
        return self.items


Names = MutableMapping[str, AvroType]


def parse_avro(text: str, names: Names | None = None) -> AvroType:
    """Return the type that a schema's JSON describes.

    `names` holds the named types it may refer to, and gets those it defines. SchemaError when the text is no Avro
    schema.
    """
    try:
        return _parse(json.loads(text), "", {} if names is None else names)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchemaError(f"This is no Avro schema ({type(error).__name__}: {error}): {text:.200}") from error


def _parse(node: Any, namespace: str, names: Names) -> AvroType:
    if isinstance(node, str):
        return _named(node, namespace, names)
    if isinstance(node, list):
        return AvroType("union", branches=tuple(_parse(branch, namespace, names) for branch in node))
    kind = node["type"]
    if not isinstance(kind, str):
        return _parse(kind, namespace, names)
    properties = {k: v for k, v in node.items() if k not in _STRUCTURE}
    match kind:
        case "record" | "error":
            return _record(node, namespace, names, properties)
        case "enum":
            made = AvroType(
                "enum", _full_name(node, namespace), node.get("doc"), symbols=tuple(node["symbols"]),
                default=node.get("default"), properties=properties,
            )  # fmt: skip
            names[made.name] = made
            return made
        case "fixed":
            made = AvroType("fixed", _full_name(node, namespace), size=int(node["size"]), properties=properties)
            names[made.name] = made
            return made
        case "array":
            return AvroType("array", items=_parse(node["items"], namespace, names), properties=properties)
        case "map":
            return AvroType("map", items=_parse(node["values"], namespace, names), properties=properties)
    if kind in PRIMITIVES:
        return AvroType(kind, properties=properties)
    return _named(kind, namespace, names)


def _record(node: Mapping[str, Any], namespace: str, names: Names, properties: Mapping[str, Any]) -> AvroType:
    record = AvroType("record", _full_name(node, namespace), node.get("doc"), properties=properties)
    names[record.name] = record
    inner = record.name.rpartition(".")[0]
    for member in node["fields"]:
        extra = {k: v for k, v in member.items() if k not in _STRUCTURE and k != "order"}
        record.fields.append(
            AvroField(
                member["name"],
                _parse(member["type"], inner, names),
                member.get("doc"),
                member.get("default", MISSING),
                extra,
            )
        )
    return record


def _full_name(node: Mapping[str, Any], namespace: str) -> str:
    name: str = node["name"]
    space = node.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def _named(name: str, namespace: str, names: Names) -> AvroType:
    if name in PRIMITIVES:
        return AvroType(name)
    found = names.get(name if "." in name or not namespace else f"{namespace}.{name}") or names.get(name)
    if found is None:
        raise SchemaError(
            f"The Avro schema refers to a type {name!r} that it does not define.",
            fix="Register the schema with a reference to the one that defines it.",
        )
    return found


def avro_text(schema: AvroType) -> str:
    """Return the schema as compact JSON; a named type is spelt out once."""
    return json.dumps(_node(schema, "", {}), separators=(",", ":"), ensure_ascii=False)


def _node(schema: AvroType, namespace: str, seen: dict[str, AvroType]) -> Any:
    match schema.kind:
        case "union":
            return [_node(branch, namespace, seen) for branch in schema.branches]
        case "record" | "enum" | "fixed":
            return _named_node(schema, namespace, seen)
        case "array":
            return {"type": "array", "items": _node(schema.member, namespace, seen), **schema.properties}
        case "map":
            return {"type": "map", "values": _node(schema.member, namespace, seen), **schema.properties}
    return {"type": schema.kind, **schema.properties} if schema.properties else schema.kind


def _named_node(schema: AvroType, namespace: str, seen: dict[str, AvroType]) -> Any:
    space, _, name = schema.name.rpartition(".")
    known = seen.get(schema.name)
    if known is not None:
        if known is not schema and _node(known, "", {}) != _node(schema, "", {}):
            raise SchemaError(
                f"Two different types are called {schema.name!r}, which Avro has no place for.",
                fix="Give one of the structs another schema name.",
            )
        return name if space == namespace else schema.name
    seen[schema.name] = schema
    node: dict[str, Any] = {"type": schema.kind, "name": name}
    if space and space != namespace:
        node["namespace"] = space
    if schema.doc is not None:
        node["doc"] = schema.doc
    match schema.kind:
        case "record":
            node["fields"] = [_field_node(member, space or namespace, seen) for member in schema.fields]
        case "enum":
            node["symbols"] = list(schema.symbols)
            if schema.default is not None:
                node["default"] = schema.default
        case _:
            node["size"] = schema.size
    return {**node, **schema.properties}


def _field_node(member: AvroField, namespace: str, seen: dict[str, AvroType]) -> dict[str, Any]:
    node: dict[str, Any] = {"name": member.name, "type": _node(member.type, namespace, seen)}
    if member.doc is not None:
        node["doc"] = member.doc
    if member.default is not MISSING:
        node["default"] = member.default
    return {**node, **member.properties}
