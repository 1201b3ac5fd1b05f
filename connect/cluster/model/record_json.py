"""Encodes JSON byte for byte as Kafka Connect's JsonConverter writes it to the internal topics. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

import orjson

_T = TypeVar("_T")

_YEAR_10000_MS: Final = 253_402_300_800_000
"""This is the first time that Python's dates cannot hold, in epoch milliseconds."""

# Jackson writes control characters with upper-case digits and characters outside the BMP as two escapes.
_SPECIAL = re.compile(r"\\(?:u[0-9a-f]{4}|.)|[\U00010000-\U0010ffff]")


class RecordFormatError(ValueError):
    """Raised if a record of an internal topic is not what its key promises; the text says what was found."""


class KeyedBytes(NamedTuple):
    """Holds a record as bytes, as Kafka does; a tombstone has the value None."""

    key: bytes
    value: bytes | None


def keyed(key: str, members: Mapping[str, object] | None) -> KeyedBytes:
    """Return the record of a key with these members as JSON, or its tombstone for None."""
    return KeyedBytes(key.encode(), None if members is None else compact_json(members))


def key_text(key: bytes | None) -> str:
    """Return a record's key as text. RecordFormatError: the record has no key, or the key is no UTF-8."""
    if key is None:
        raise RecordFormatError("no key")
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise RecordFormatError(f"key is not UTF-8 ({error.reason})") from error


def compact_json(value: object) -> bytes:
    """Return a value as compact JSON in UTF-8; members keep their order."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SPECIAL.sub(_escaped, text).encode()


def _escaped(match: re.Match[str]) -> str:
    text = match.group()
    if len(text) > 2:
        return "\\u" + text[2:].upper()
    if len(text) == 2:
        return text
    units = text.encode("utf-16-be").hex().upper()
    return f"\\u{units[:4]}\\u{units[4:]}"


def json_object(value: bytes) -> Mapping[str, Any]:
    """Return the members of a JSON object. RecordFormatError when the bytes are anything else.

    The members fit into answers of REST: lone surrogates are refused, and an integer of more than 64 bits is a float.
    """
    try:
        members = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise RecordFormatError(f"not JSON ({error})") from error
    if not isinstance(members, dict):
        raise RecordFormatError(f"a JSON {type(members).__name__}, not an object")
    return members


def member(members: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a member of the wanted type. RecordFormatError when it is missing or of another type."""
    value = members.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RecordFormatError(f"member {name!r} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def moment_ms(members: Mapping[str, Any], name: str) -> int:
    """Return a member that is a time in epoch milliseconds. RecordFormatError: it is missing or no such time."""
    value = member(members, name, int)
    if not 0 <= value < _YEAR_10000_MS:
        raise RecordFormatError(f"member {name!r} is no time of the years 1970 to 9999")
    return value
