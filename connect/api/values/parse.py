"""Parses texts to typed values and prints values, as `org.apache.kafka.connect.data.Values` of Kafka 4.1 does in the
time zone UTC. Pure.
"""

from __future__ import annotations

import base64
import datetime as dt
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from connect.api import schema as s
from connect.api.schema import Schema, Type
from connect.api.values.text import scalar_string
from connect.api.values.tokens import SPACE, Tokens
from connect.lib.javatext.calendar import day_number
from connect.lib.javatext.dates import iso_string

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DATE = re.compile(r"(\d+)-(\d+)-(\d+)")
_TIME = re.compile(r"(\d+):(\d+):(\d+)\.(\d+)Z")
_TIMESTAMP = re.compile(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d+)Z")
_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_INTEGERS = ((8, s.INT8), (16, s.INT16), (32, s.INT32), (64, s.INT64))
_RANK = {t: i for i, t in enumerate((Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64))}
_UNKNOWN = Schema(Type.STRING, optional=True, name="unknown")
_FLOAT_LIMIT = Decimal(2) ** 128 - Decimal(2) ** 103
_DOUBLE_LIMIT = Decimal(2) ** 1024 - Decimal(2) ** 970


@dataclass(frozen=True, slots=True)
class Typed:
    """Holds a value and its schema. `schema` is None if the value is null, or if its elements have no common type."""

    value: Any
    schema: Schema | None


class _NotParsedError(Exception):
    """Says that something inside of a list or map is no value, so that the whole text is a string."""


def parse_string(text: str) -> Typed:
    """Return the typed value of a text (`Values.parseString`); a text that is no other value is a string."""
    if not text:
        return Typed(text, s.STRING)
    found = _parse(Tokens(text), embedded=False)
    if found is None:
        return Typed(None, None)
    return Typed(found.value, None if _has_unknown(found.schema) else found.schema)


def _has_unknown(schema: Schema | None) -> bool:
    return schema is not None and (schema is _UNKNOWN or _has_unknown(schema.items) or _has_unknown(schema.keys))


def _parse(tokens: Tokens, *, embedded: bool) -> Typed | None:
    if not tokens.has_next():
        return None
    if embedded and tokens.take('"'):
        return _quoted(tokens)
    for literal, typed in (("null", None), ("true", Typed(True, s.BOOLEAN)), ("false", Typed(False, s.BOOLEAN))):
        if _whole_literal(tokens, literal, embedded=embedded):
            return typed
    start = tokens.mark()
    try:
        if tokens.take("["):
            return _array(tokens)
        if tokens.take("{"):
            return _map(tokens)
    except _NotParsedError:
        tokens.rewind(start)
    token = tokens.next()
    if not token.strip(SPACE):
        return Typed(token, s.STRING)
    return _single(tokens, token.strip(SPACE), embedded=embedded)


def _whole_literal(tokens: Tokens, literal: str, *, embedded: bool) -> bool:
    start = tokens.mark()
    if tokens.take(literal) and (embedded or not tokens.has_next()):
        return True
    tokens.rewind(start)
    return False


def _single(tokens: Tokens, token: str, *, embedded: bool) -> Typed:
    if token[0].isdecimal():
        # A colon is a delimiter, so a time is five tokens.
        start = tokens.mark()
        rest = tokens.next_of(4)
        temporal = _temporal(token + rest) if rest is not None else None
        if temporal is not None:
            return temporal
        tokens.rewind(start)
        temporal = _temporal(token)
        if temporal is not None:
            return temporal
    number = _number(token) if token[0].isdecimal() or token[0] in "+-" else None
    if number is not None:
        return number
    if embedded:
        raise _NotParsedError
    return Typed(tokens.text, s.STRING)


def _quoted(tokens: Tokens) -> Typed:
    parts = []
    while tokens.has_next() and not tokens.take_exactly('"'):
        parts.append(tokens.next())
    content = "".join(parts)
    return _temporal(content) or Typed(content, s.STRING)


def _array(tokens: Tokens) -> Typed:
    values: list[Any] = []
    merged = _Merged()
    while tokens.has_next():
        if tokens.take("]"):
            return Typed(_aligned(values, merged.schema), s.array(merged.schema or _UNKNOWN))
        if tokens.take(","):
            raise _NotParsedError
        element = _parse(tokens, embedded=True)
        merged.add(element)
        values.append(None if element is None else element.value)
        here = tokens.mark()
        if tokens.take("]"):
            tokens.rewind(here)
        elif not tokens.take(","):
            raise _NotParsedError
    raise _NotParsedError


def _map(tokens: Tokens) -> Typed:
    entries: dict[Any, Any] = {}
    keys, values = _Merged(), _Merged()
    while tokens.has_next():
        if tokens.take("}"):
            return _finished_map(entries, keys.schema, values.schema)
        if tokens.take(","):
            raise _NotParsedError
        key = _parse(tokens, embedded=True)
        if key is None or key.value is None or not tokens.take(":"):
            raise _NotParsedError
        value = _parse(tokens, embedded=True)
        try:
            entries[key.value] = None if value is None else value.value
        except TypeError:
            raise _NotParsedError from None
        tokens.take(",")
        keys.add(key)
        values.add(value)
    raise _NotParsedError


def _finished_map(entries: dict[Any, Any], keys: Schema | None, values: Schema | None) -> Typed:
    aligned = dict(zip(_aligned(list(entries), keys), entries.values(), strict=True))
    if keys is not None:
        aligned = dict(zip(aligned, _aligned(list(aligned.values()), values), strict=True))
    return Typed(aligned, s.map_of(keys or _UNKNOWN, values or _UNKNOWN))


def _aligned(values: list[Any], schema: Schema | None) -> list[Any]:
    """Convert the elements to their common schema.

    Integers among floats become floats. Integers among dates count days, among times and timestamps milliseconds. A
    null among values of one type raises _NotParsedError.
    """
    if schema is None:
        return values
    return [_fitted(value, schema) for value in values]


def _fitted(value: Any, schema: Schema) -> Any:
    if value is None:
        raise _NotParsedError
    if schema.name in {s.DATE, s.TIME, s.TIMESTAMP}:
        return _as_moment(value, schema.name)
    if isinstance(value, dt.date | dt.time):
        raise _NotParsedError
    return float(value) if schema.type in {Type.FLOAT32, Type.FLOAT64} else value


def _as_moment(value: Any, name: str | None) -> dt.date | dt.time:
    try:
        match value:
            case int():
                moment = _EPOCH + (dt.timedelta(days=value) if name == s.DATE else dt.timedelta(milliseconds=value))
            case dt.datetime():
                moment = value
            case dt.time():
                moment = dt.datetime.combine(_EPOCH, value, dt.UTC)
            case _:
                moment = dt.datetime.combine(value, dt.time(), dt.UTC)
    except OverflowError:
        raise _NotParsedError from None
    if name == s.TIMESTAMP:
        return moment
    if name == s.DATE:
        return moment.date()
    if isinstance(value, int) and moment.date() != _EPOCH.date():
        raise _NotParsedError
    return moment.time()


class _Merged:
    """Finds the common schema of elements (`Values.commonSchemaFor`); it is None if they have none."""

    def __init__(self) -> None:
        self._schema: Schema | None = None
        self._compatible = True

    @property
    def schema(self) -> Schema | None:
        return self._schema if self._compatible else None

    def add(self, element: Typed | None) -> None:
        if element is None or element.schema is None:
            return
        if self._schema is None or self._schema.type is element.schema.type:
            self._schema = element.schema
        elif self._schema.type in _RANK and element.schema.type in _RANK:
            self._schema = max(self._schema, element.schema, key=lambda schema: _RANK[schema.type])
        else:
            self._compatible = False


def _number(token: str) -> Typed | None:
    if not _NUMBER.fullmatch(token):
        return None
    try:
        decimal = Decimal(token)
    except InvalidOperation:
        return None  # No number has such an exponent; Java takes the text for a string, too.
    exponent = decimal.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent <= 1000 and decimal == decimal.to_integral_value():
        for bits, schema in _INTEGERS:
            if -(2 ** (bits - 1)) <= decimal < 2 ** (bits - 1):
                return Typed(int(decimal), schema)
    if exponent != 0 and decimal.copy_abs() < _FLOAT_LIMIT:
        return Typed(_to_float32(decimal), s.FLOAT32)
    if exponent != 0 and decimal.copy_abs() < _DOUBLE_LIMIT:
        return Typed(float(decimal), s.FLOAT64)
    return Typed(decimal, s.decimal(-exponent))


def _to_float32(decimal: Decimal) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", float(decimal)))[0]
    return single


def _temporal(token: str) -> Typed | None:
    """Return the date, time or timestamp that Java's lenient `SimpleDateFormat` reads; the text's length decides which.

    Return None if the text is none of them, or has no Python form, as the time 25:00:00.000Z. It stays a text then.
    """
    text = token.replace("\\:", ":")
    try:
        match len(text):
            case 10 if found := _DATE.match(text):
                day = day_number(*map(int, found.groups()))
                return Typed((_EPOCH + dt.timedelta(days=day)).date(), s.DATE_SCHEMA)
            case 13 if found := _TIME.match(text):
                moment = _EPOCH + _clock(*map(int, found.groups()))
                return Typed(moment.time(), s.TIME_SCHEMA) if moment.date() == _EPOCH.date() else None
            case 24 if found := _TIMESTAMP.match(text):
                numbers = [int(group) for group in found.groups()]
                moment = _EPOCH + dt.timedelta(days=day_number(*numbers[:3])) + _clock(*numbers[3:])
                return Typed(moment, s.TIMESTAMP_SCHEMA)
    except OverflowError:
        return None
    return None


def _clock(hours: int, minutes: int, seconds: int, ms: int) -> dt.timedelta:
    return dt.timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=ms)


def text_of(value: Any, schema: Schema | None = None, *, embedded: bool = False) -> str:
    """Return the text of a value (`Values.convertToString`). Raise SchemaError when it has none."""
    match value:
        case None:
            return "null"
        case str():
            return _quote(value) if embedded else value
        case bytes() | bytearray() | memoryview():
            text = base64.b64encode(value).decode()
            return f'"{text}"' if embedded else text
        case dt.date() | dt.time():
            return iso_string(value)
        case Mapping():
            return "{" + ",".join(f"{k}:{v}" for k, v in _entry_texts(value, schema)) + "}"
        case list() | tuple():
            items = schema.items if schema is not None else None
            return "[" + ",".join(text_of(v, items, embedded=True) for v in value) + "]"
    return scalar_string(value, schema)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _entry_texts(value: Mapping[Any, Any], schema: Schema | None) -> Iterable[tuple[str, str]]:
    if schema is not None and schema.type is Type.STRUCT:
        for field in schema.fields:
            yield _quote(field.name), text_of(value.get(field.name), field.schema, embedded=True)
        return
    keys, items = (schema.keys, schema.items) if schema is not None else (None, None)
    for key, item in value.items():
        yield text_of(key, keys, embedded=True), text_of(item, items, embedded=True)
