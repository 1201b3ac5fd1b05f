"""Encodes JSON as Kafka Connect's JsonConverter has it in the internal topics, byte for byte. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

import orjson

_T = TypeVar("_T")

_YEAR_10000_MS: Final = 253_402_300_800_000
"""A date in Python ends before this time."""

# Jackson writes control characters with upper-case digits and characters outside the BMP as two escapes.
_SPECIAL = re.compile(r"\\(?:u[0-9a-f]{4}|.)|[\U00010000-\U0010ffff]")


class RecordFormatError(ValueError):
    """A record of an internal topic is not what its key promises; the text says what was found."""


class KeyedBytes(NamedTuple):
    """A record as Kafka holds it; value None is a tombstone."""

    key: bytes
    value: bytes | None


def keyed(key: str, members: Mapping[str, object] | None) -> KeyedBytes:
    """Return a record of these members in JSON; None: its tombstone."""
    return KeyedBytes(key.encode(), None if members is None else compact_json(members))


def key_text(key: bytes | None) -> str:
    """Return a record's key as text. RecordFormatError: there is none, or it is no UTF-8."""
    if key is None:
        raise RecordFormatError("no key")
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise RecordFormatError(f"key is not UTF-8 ({error.reason})") from error


def compact_json(value: object) -> bytes:
    """Compact JSON in the order given, as UTF-8."""
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

    It takes what REST can answer with: no half characters, and a number of more than 64 bits is no integer.
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
    """Return a member that is a time in epoch milliseconds. RecordFormatError when it is none."""
    value = member(members, name, int)
    if not 0 <= value < _YEAR_10000_MS:
        raise RecordFormatError(f"member {name!r} is no time of the years 1970 to 9999")
    return value
