"""Parsed JSON to Connect values in Python form, row by row. Pure.

Strict: a value that does not fit its schema is a SchemaError. Java: it becomes what JsonConverter of Kafka 4.1 makes
of it (Jackson's lenient `JsonNode` getters: "abc" read as an int32 is 0, 300 read as an int8 is 44).
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.convert.java_text import decimal_of, unscaled_value
from connect.convert.json_text import Node

Reader = Callable[[Node], Any]
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY_MS = 86_400_000
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_SIGNIFICANT_EXPONENT = 400


@dataclass(frozen=True, slots=True)
class Reading:
    """How values are read."""

    replace_null_with_default: bool = True
    java: bool = False


def read_value(schema: Schema | None, node: Node, reading: Reading) -> Any:
    """One value. SchemaError names the field that does not fit."""
    return reader(schema, reading)(node)


def reader(schema: Schema | None, reading: Reading, path: str = "") -> Reader:
    """A function that reads values of this schema; build it once per schema."""
    if schema is None:
        return _java_schemaless if reading.java else _strict_schemaless
    read = _typed(schema, reading, path)
    default = schema.default if reading.replace_null_with_default else None

    def read_or_null(node: Node) -> Any:
        if node is not None:
            return read(node)
        if default is not None:
            return default
        if schema.optional:
            return None
        raise SchemaError(f"Invalid null value for required {_name(schema.type)} field", field=path)

    return read_or_null


def _name(kind: str) -> str:
    return kind.upper()


def _typed(schema: Schema, reading: Reading, path: str) -> Reader:
    match schema.name:
        case s.DECIMAL:
            return _decimal_reader(schema, reading, path)
        case s.DATE | s.TIME | s.TIMESTAMP:
            return _instant_reader(schema.name, reading, path)
    match schema.type:
        case Type.STRUCT:
            return _struct_reader(schema, reading, path)
        case Type.MAP:
            return _map_reader(schema, reading, path)
        case Type.ARRAY:
            return _array_reader(schema, reading, path)
        case Type.BYTES:
            return lambda node: _bytes(node, path, java=reading.java)
    if reading.java:
        return _JAVA[schema.type]
    return lambda node: _strict(schema.type, node, path)


def _strict(kind: Type, node: Node, path: str) -> Any:
    match kind:
        case Type.BOOLEAN if type(node) is bool:
            return node
        case Type.STRING if type(node) is str:
            return node
        case Type.FLOAT32 | Type.FLOAT64:
            return _strict_float(kind, node, path)
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64 if type(node) is int:
            if not -(2 ** (_BITS[kind] - 1)) <= node < 2 ** (_BITS[kind] - 1):
                raise SchemaError(f"{node} is out of range for {kind}.", field=path)
            return node
    raise _mismatch(kind, node, path)


def _mismatch(kind: str, node: Node, path: str) -> SchemaError:
    shown = repr(node) if len(repr(node)) <= 40 else f"{repr(node)[:40]}…"
    return SchemaError(f"expected {kind}, found {_node_type(node)} {shown}.", field=path)


def _node_type(node: Node) -> str:
    match node:
        case None:
            return "NULL"
        case bool():
            return "BOOLEAN"
        case str():
            return "STRING"
        case list():
            return "ARRAY"
        case dict():
            return "OBJECT"
    return "NUMBER"


def _strict_float(kind: Type, node: Node, path: str) -> float:
    if type(node) is str and node in _NON_FINITE:
        return _NON_FINITE[node]
    if type(node) not in {int, float, Decimal}:
        raise _mismatch(kind, node, path)
    try:
        number = float(node)
        number = _float32(number) if kind is Type.FLOAT32 else number
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise SchemaError(f"{node} is out of range for {kind}.", field=path)
    return number


def _float32(number: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return single


def _java_long(node: Node) -> int:
    """JsonNode.longValue: the low 64 bits of the whole part, 0 for what is no number."""
    if type(node) is int:
        return _wrap(node, 64)
    if not isinstance(node, Decimal):
        return 0
    exponent = node.as_tuple().exponent
    # 10**64 and above is a multiple of 2**64: all low bits are 0, and the number need not be built.
    if isinstance(exponent, int) and exponent > _SIGNIFICANT_EXPONENT:
        return 0
    return _wrap(int(node), 64)


def _wrap(number: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def _java_double(node: Node) -> float:
    if type(node) is bool or not isinstance(node, (int, Decimal)):
        return 0.0
    try:
        # Adding 0.0 turns -0.0 into 0.0, as BigDecimal has no negative zero.
        return float(node) + 0.0
    except OverflowError:
        return math.inf if node > 0 else -math.inf


def _java_float(node: Node) -> float:
    number = _java_double(node)
    try:
        return _float32(number)
    except OverflowError:
        return math.copysign(math.inf, number)


_JAVA: Mapping[Type, Reader] = {
    Type.BOOLEAN: lambda node: node is True,
    Type.INT8: lambda node: _wrap(_java_long(node), 8),
    Type.INT16: lambda node: _wrap(_java_long(node), 16),
    Type.INT32: lambda node: _wrap(_java_long(node), 32),
    Type.INT64: _java_long,
    Type.FLOAT32: _java_float,
    Type.FLOAT64: _java_double,
    Type.STRING: lambda node: node if isinstance(node, str) else None,
}


def _bytes(node: Node, path: str, *, java: bool) -> bytes | None:
    if not isinstance(node, str):
        if java:
            return None
        raise _mismatch("bytes", node, path)
    return _base64(node, "Invalid bytes field", path, java=java)


def _base64(text: str, message: str, path: str, *, java: bool) -> bytes:
    if java:
        # Jackson's decoder skips white space between groups of four characters, not inside one.
        text = _without_space(text)
    if not _BASE64.fullmatch(text):
        raise SchemaError(f"{message}: no base64 text.", field=path)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise SchemaError(f"{message}: {error}.", field=path) from None


def _without_space(text: str) -> str:
    groups, at = [], 0
    while at < len(text):
        if text[at] <= " ":
            at += 1
        else:
            groups.append(text[at : at + 4])
            at += 4
    return "".join(groups)


def _decimal_reader(schema: Schema, reading: Reading, path: str) -> Reader:
    def fit(value: Decimal) -> Decimal:
        try:
            scale = schema.decimal_scale
            return decimal_of(unscaled_value(value, scale), scale)
        except ValueError as error:
            raise SchemaError(f"Invalid value for Decimal: {error}", field=path) from None

    def read(node: Node) -> Decimal:
        if type(node) in {int, Decimal}:
            return Decimal(node) if reading.java else fit(Decimal(node))
        if not isinstance(node, str):
            raise SchemaError(
                "Invalid type for Decimal, underlying representation should be numeric or bytes but was "
                f"{_node_type(node)}",
                field=path,
            )
        data = _base64(node, "Invalid bytes for Decimal field", path, java=reading.java)
        if not data:
            raise SchemaError("Invalid bytes for Decimal field: zero length.", field=path)
        try:
            return decimal_of(int.from_bytes(data, "big", signed=True), schema.decimal_scale)
        except ValueError as error:
            raise SchemaError(f"Invalid scale parameter found in Decimal schema: {error}", field=path) from None

    return read


def _instant_reader(name: str, reading: Reading, path: str) -> Reader:
    short = name.removeprefix(s.LOGICAL)
    bits = 64 if name == s.TIMESTAMP else 32
    make = {s.DATE: _date, s.TIME: _time, s.TIMESTAMP: _timestamp}[name]

    def read(node: Node) -> Any:
        wraps = reading.java and name == s.TIMESTAMP and type(node) is int
        number = _wrap(node, 64) if wraps else node
        if type(number) is not int or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise SchemaError(
                f"Invalid type for {short}, underlying representation should be integer but was {_node_type(node)}",
                field=path,
            )
        try:
            return make(number)
        except (ValueError, OverflowError):
            raise SchemaError(f"{number} is out of range for {short}.", field=path) from None

    return read


def _date(days: int) -> dt.date:
    return dt.date.fromordinal(days + _EPOCH_DAY)


def _time(ms: int) -> dt.time:
    if not 0 <= ms < _DAY_MS:
        raise ValueError(ms)
    return (_EPOCH + dt.timedelta(milliseconds=ms)).time()


def _timestamp(ms: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(milliseconds=ms)


def _struct_reader(schema: Schema, reading: Reading, path: str) -> Reader:
    fields = [(f.name, f.schema, reader(f.schema, reading, f"{path}.{f.name}".lstrip("."))) for f in schema.fields]

    def read(node: Node) -> dict[str, Any]:
        if not isinstance(node, dict):
            raise SchemaError(f"Structs should be encoded as JSON objects, but found {_node_type(node)}", field=path)
        value = {name: read_field(node.get(name)) for name, _, read_field in fields}
        if reading.java:
            for name, field_schema, _ in fields:
                _require(field_schema, value[name], f"{path}.{name}".lstrip("."))
        return value

    return read


def _require(schema: Schema, value: Any, path: str) -> None:
    """What Struct.put checks: coercion may have made a null where none is allowed."""
    if value is None:
        if not schema.optional:
            raise SchemaError("Invalid value: null used for required field", field=path)
    elif schema.type is Type.ARRAY and schema.items is not None:
        for item in value:
            _require(schema.items, item, f"{path}[]")
    elif schema.type is Type.MAP and schema.items is not None and schema.keys is not None:
        for key, item in value.items():
            _require(schema.keys, key, f"{path}.key")
            _require(schema.items, item, f"{path}.value")


def _array_reader(schema: Schema, reading: Reading, path: str) -> Reader:
    item = reader(schema.items, reading, f"{path}[]")

    def read(node: Node) -> list[Any]:
        if not isinstance(node, list):
            if not reading.java:
                raise _mismatch("array", node, path)
            node = list(node.values()) if isinstance(node, dict) else []
        return [item(n) for n in node]

    return read


def _map_reader(schema: Schema, reading: Reading, path: str) -> Reader:
    assert schema.keys is not None
    key, item = reader(schema.keys, reading, f"{path}.key"), reader(schema.items, reading, f"{path}.value")

    def read_object(node: Node) -> dict[Any, Any]:
        if not isinstance(node, dict):
            message = f"Maps with string fields should be encoded as JSON objects, but found {_node_type(node)}"
            raise SchemaError(message, field=path)
        return {name: item(n) for name, n in node.items()}

    def read_pairs(node: Node) -> dict[Any, Any]:
        if not isinstance(node, list):
            message = (
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {_node_type(node)}"
            )
            raise SchemaError(message, field=path)
        try:
            return {key(k): item(n) for k, n in _pairs(node, path)}
        except TypeError as error:
            raise SchemaError(f"A map key has no Python form: {error}", field=path) from None

    return read_object if schema.keys.type is Type.STRING else read_pairs


def _pairs(nodes: Iterable[Node], path: str) -> Iterable[tuple[Node, Node]]:
    for node in nodes:
        if not isinstance(node, list):
            raise SchemaError(f"Found invalid map entry instead of array tuple: {_node_type(node)}", field=path)
        if len(node) != 2:
            raise SchemaError(f"Found invalid map entry, expected length 2 but found :{len(node)}", field=path)
        yield node[0], node[1]


def _strict_schemaless(node: Node) -> Any:
    match node:
        case Decimal():
            return _strict_float(Type.FLOAT64, node, "")
        case list():
            return [_strict_schemaless(n) for n in node]
        case dict():
            return {name: _strict_schemaless(n) for name, n in node.items()}
    return node


def _java_schemaless(node: Node) -> Any:
    match node:
        case bool() | str() | None:
            return node
        case int():
            return _wrap(node, 64)
        case Decimal():
            return _java_double(node)
        case list():
            return [_java_schemaless(n) for n in node]
        case dict():
            return {name: _java_schemaless(n) for name, n in node.items()}
    raise TypeError(type(node))
