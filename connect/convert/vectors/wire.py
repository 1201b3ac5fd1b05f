"""Encodes Protobuf's scalar types over columns: keys, numbers, lengths.

Source: the encoding page of protobuf.dev. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api.errors import SchemaError
from connect.convert.vectors import pieces as p

TakesKind = tuple[str, ...]
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_FIXED: Final = {"fixed64": FIXED64, "sfixed64": FIXED64, "double": FIXED64,
                 "fixed32": FIXED32, "sfixed32": FIXED32, "float": FIXED32}  # fmt: skip
_SIZED: Final = frozenset({"string", "bytes", "message"})
_UINT32_END: Final = 1 << 32


class NumberedKind(Protocol):
    """Tells what a key is made of."""

    @property
    def number(self) -> int: ...
    @property
    def kind(self) -> str: ...


def wire_type(kind: str) -> int:
    """Return the wire type, which says how a value of this type is delimited."""
    return LENGTH if kind in _SIZED else _FIXED.get(kind, VARINT)


def key_of(field: NumberedKind, *, packed: bool = False) -> bytes:
    """Return the bytes that stand before a value of the field."""
    tag = field.number << 3 | (LENGTH if packed else wire_type(field.kind))
    return bytes(p.varints(np.array([tag], np.uint64))[0].as_py())


def sized(content: pa.BinaryArray) -> p.Parts:
    """Return the parts of a value with its length before it."""
    return [p.varints(p.lengths_of(content).astype(np.uint64)), p.as_binary(content)]


def scalar_pieces(kind: str, path: str) -> Callable[[pa.Array], p.Parts]:
    """Return a function that gives the parts of values without nulls.

    SchemaError for a number that has no place in the type.
    """
    match kind:
        case "string" | "bytes":
            return sized
        case "bool":
            return lambda array: [pc.if_else(array, pa.scalar(b"\x01"), pa.scalar(b"\x00"))]
        case "sint32" | "sint64":
            return lambda array: [p.signed_varints(array)]
        case "uint32":
            return lambda array: [p.varints(_unsigned32(array, path).view(np.uint64))]
        case "fixed32":
            return lambda array: [p.little_endian(pa.array(_unsigned32(array, path).astype(np.uint32)))]
        case "sfixed32" | "float":
            target = pa.int32() if kind == "sfixed32" else pa.float32()
            return lambda array: [p.little_endian(array.cast(target))]
        case "fixed64" | "sfixed64" | "double":
            wide = pa.float64() if kind == "double" else pa.int64()
            return lambda array: [p.little_endian(array.cast(wide))]
    # Negative numbers take ten bytes: they are written as 64 bits in two's complement.
    return lambda array: [p.varints(p.int64_of(array).view(np.uint64))]


def zero_mask(array: pa.Array) -> pa.BooleanArray:
    """Tell which values are the type's default, which proto3 leaves out; -0.0 is not a default."""
    kind = array.type
    if pa.types.is_boolean(kind):
        return pc.invert(array)
    if pa.types.is_floating(kind):
        bits = array.view(pa.int32() if pa.types.is_float32(kind) else pa.int64())
        return pc.equal(bits, 0)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pc.equal(pc.binary_length(array), 0)
    return pc.equal(array, 0)


def _unsigned32(array: pa.Array, path: str) -> np.ndarray:
    numbers = p.int64_of(array)
    if ((numbers < 0) | (numbers >= _UINT32_END)).any():
        raise SchemaError("A number is out of range for uint32.", field=path)
    return numbers
