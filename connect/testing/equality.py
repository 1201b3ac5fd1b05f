"""Compares values without loss: stricter than ==, as 1, 1.0 and True differ, and kinder, as NaN equals NaN."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal


def same_value(left: object, right: object) -> bool:
    """Tell if both are the same value of the same type; NaN equals NaN, and -0.0 is not 0.0.

    Text, bytes, lists and maps may be of any class of their kind; Decimals compare by number, moments by instant.
    """
    return difference(left, right) is None


def difference(left: object, right: object, path: str = "value") -> str | None:
    """Return where and how two values differ, None when they are the same value."""
    match left, right:
        case (bool(), _) | (_, bool()):
            return None if left is right else _told(left, right, path)
        case float(), float():
            return None if _same_float(left, right) else _told(left, right, path)
        case (bytes() | bytearray() | memoryview(), bytes() | bytearray() | memoryview()):
            return None if bytes(left) == bytes(right) else _told(left, right, path)
        case Mapping(), Mapping():
            return _mapping_difference(left, right, path)
        case (list() | tuple(), list() | tuple()):
            return _sequence_difference(left, right, path)
        case datetime(), datetime():
            return None if _same_moment(left, right) else _told(left, right, path)
    same_kind = _kind(left) is _kind(right)
    return None if same_kind and left == right else _told(left, right, path)


def _same_float(left: float, right: float) -> bool:
    return (math.isnan(left) and math.isnan(right)) or struct.pack(">d", left) == struct.pack(">d", right)


def _same_moment(left: datetime, right: datetime) -> bool:
    return (left.tzinfo is None) is (right.tzinfo is None) and left == right


def _kind(value: object) -> type:
    for kind in (int, str, Decimal, datetime, date, time):
        if isinstance(value, kind):
            return kind
    return type(value)


def _mapping_difference(left: Mapping[object, object], right: Mapping[object, object], path: str) -> str | None:
    for name in left:
        if name not in right:
            return f"{path}.{name} is missing"
    for name in right:
        if name not in left:
            return f"{path}.{name} is not expected"
    found = (difference(left[name], right[name], f"{path}.{name}") for name in left)
    return next((f for f in found if f is not None), None)


def _sequence_difference(left: Sequence[object], right: Sequence[object], path: str) -> str | None:
    if len(left) != len(right):
        return f"{path} has {len(right)} elements, not {len(left)}"
    found = (difference(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(left, right, strict=True)))
    return next((f for f in found if f is not None), None)


def _told(left: object, right: object, path: str) -> str:
    return f"{path} is {type(right).__name__} {_short(right)}, not {type(left).__name__} {_short(left)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
