"""Does what Jackson's lenient `JsonNode` getters do with a JSON value, for `converter.coercion=java`. Pure.

Numbers come as int or Decimal, as Kafka's JsonDeserializer reads them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from connect.api.schema import Type
from connect.convert.json.text import Node

_SIGNIFICANT_EXPONENT = 400


def long_value(node: Node) -> int:
    """Return what JsonNode.longValue does: the low 64 bits of the whole part, 0 for what is no number."""
    if type(node) is int:
        return wrap(node, 64)
    if not isinstance(node, Decimal):
        return 0
    exponent = node.as_tuple().exponent
    # 10**64 and above is a multiple of 2**64: all low bits are 0, and the number need not be built.
    if isinstance(exponent, int) and exponent > _SIGNIFICANT_EXPONENT:
        return 0
    return wrap(int(node), 64)


def wrap(number: int, bits: int) -> int:
    """Return the number that the low `bits` bits stand for in two's complement."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def double_value(node: Node) -> float:
    """Return what JsonNode.doubleValue does: 0 for what is no number."""
    if type(node) is bool or not isinstance(node, (int, Decimal)):
        return 0.0
    try:
        # Adding 0.0 turns -0.0 into 0.0, as BigDecimal has no negative zero.
        return float(node) + 0.0
    except OverflowError:
        return math.inf if node > 0 else -math.inf


def float_value(node: Node) -> float:
    """Return what JsonNode.floatValue does: 0 for what is no number."""
    number = double_value(node)
    try:
        return to_float32(number)
    except OverflowError:
        return math.copysign(math.inf, number)


GETTERS: Mapping[Type, Callable[[Node], Any]] = {
    Type.BOOLEAN: lambda node: node is True,
    Type.INT8: lambda node: wrap(long_value(node), 8),
    Type.INT16: lambda node: wrap(long_value(node), 16),
    Type.INT32: lambda node: wrap(long_value(node), 32),
    Type.INT64: long_value,
    Type.FLOAT32: float_value,
    Type.FLOAT64: double_value,
    Type.STRING: lambda node: node if isinstance(node, str) else None,
}


def schemaless(node: Node) -> Any:
    """Return a value that has no schema, with integers of 64 bits and doubles."""
    match node:
        case bool() | str() | None:
            return node
        case int():
            return wrap(node, 64)
        case Decimal():
            return double_value(node)
        case list():
            return [schemaless(n) for n in node]
        case dict():
            return {name: schemaless(n) for name, n in node.items()}
    raise TypeError(type(node))


def without_space(text: str) -> str:
    """Return base64 text as Jackson's decoder sees it: space between groups of four characters is skipped."""
    groups, at = [], 0
    while at < len(text):
        if text[at] <= " ":
            at += 1
        else:
            groups.append(text[at : at + 4])
            at += 4
    return "".join(groups)


def to_float32(number: float) -> float:
    """Return the nearest 32-bit float. OverflowError when there is none."""
    single: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return single
