"""Gives the recorded cases of tests/fixtures/connect-golden in the Python form of `connect.api.schema`."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import struct
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from connect.api import schema as s
from connect.api.schema import Field, Schema, Type

FIXTURES = Path(__file__).parent.parent / "fixtures" / "connect-golden"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class NoPythonFormError(Exception):
    """A recorded value that the Python form has no place for, such as a date before the year 1."""


class ElementlessError(Exception):
    """An array or map whose elements have no common type."""


def cases(name: str) -> Iterator[dict[str, Any]]:
    """The cases of one file."""
    for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines():
        yield json.loads(line)


def schema_of(node: Mapping[str, Any] | None) -> Schema | None:
    """A recorded schema."""
    if node is None:
        return None
    if node["type"] in {"array", "map"} and node.get("valueSchema", 0) is None:
        raise ElementlessError
    schema = Schema(
        Type(node["type"]),
        optional=node["optional"],
        name=node.get("name"),
        version=node.get("version"),
        doc=node.get("doc"),
        parameters=MappingProxyType(node.get("parameters", {})),
        fields=tuple(Field(f["name"], _required(f["schema"])) for f in node.get("fields", ())),
        items=schema_of(node.get("valueSchema")),
        keys=schema_of(node.get("keySchema")),
    )
    if node.get("default") is None:
        return schema
    members = {name: getattr(schema, name) for name in Schema.__dataclass_fields__}
    return Schema(**members | {"default": value_of(node["default"], schema)})


def _required(node: Mapping[str, Any]) -> Schema:
    schema = schema_of(node)
    assert schema is not None
    return schema


def value_of(node: Mapping[str, Any] | None, schema: Schema | None) -> Any:
    """A recorded value in the form of its schema."""
    if node is None:
        return None
    tag, inner = next(iter(node.items()))
    if tag in {"boolean", "string", "int8", "int16", "int32"}:
        return inner
    if tag == "map":
        return _map(inner, schema)
    simple = {
        "int64": int,
        "float32": lambda bits: struct.unpack(">f", bytes.fromhex(bits))[0],
        "float64": lambda bits: struct.unpack(">d", bytes.fromhex(bits))[0],
        "bytes": base64.b64decode,
        "bytebuffer": base64.b64decode,
        "decimal": _decimal,
        "instant": lambda ms: _instant(int(ms), schema),
        "array": lambda items: [value_of(item, schema and schema.items) for item in items],
        "struct": lambda fields: {name: value_of(v, schema and schema.field(name)) for name, v in fields},
    }
    return simple[tag](inner)


def _decimal(node: Mapping[str, Any]) -> Decimal:
    unscaled = int(node["unscaled"])
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -node["scale"]))


def _instant(ms: int, schema: Schema | None) -> Any:
    try:
        moment = _EPOCH + dt.timedelta(milliseconds=ms)
    except OverflowError:
        raise NoPythonFormError(f"instant {ms}") from None
    name = schema.name if schema else None
    if name == s.TIME:
        if moment.date() != _EPOCH.date():
            raise NoPythonFormError(f"time {ms}")
        return moment.time()
    if name == s.DATE:
        if moment.time() != dt.time():
            raise NoPythonFormError(f"date {ms}")
        return moment.date()
    return moment


def _map(entries: list[list[Any]], schema: Schema | None) -> Any:
    pairs = [(value_of(k, schema and schema.keys), value_of(v, schema and schema.items)) for k, v in entries]
    try:
        return dict(pairs)
    except TypeError:
        raise NoPythonFormError("a map key that is no Python key") from None


def same(left: Any, right: Any) -> bool:
    """Equal values of equal types: NaN equals NaN, 0.0 is not -0.0, True is not 1, 1.50 is not 1.5."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or struct.pack("d", left) == struct.pack("d", right)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    if isinstance(left, Decimal):
        return left.as_tuple() == right.as_tuple()
    return bool(left == right)


def same_schema(left: Schema | None, right: Schema | None) -> bool:
    """Equal schemas, their defaults compared by `same`."""
    if left is None or right is None:
        return left is right
    inner = zip(left.fields, right.fields, strict=False)
    return (
        left == right
        and same(left.default, right.default)
        and list(left.parameters.items()) == list(right.parameters.items())
        and all(same_schema(a.schema, b.schema) for a, b in inner)
    )
