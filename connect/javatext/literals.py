"""The type of a literal in a configuration or header: `Values.parseString` of Kafka 4.1. Pure.

What is no boolean, number, date, array or map is a text. Only the first token of several counts: `1::2` is 1.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

from connect.api import schema as s
from connect.api.schema import Schema, Type
from connect.javatext.calendar import day_number
from connect.javatext.numbers import BITS, to_float32, wrapped

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|\\$|[^:,{}\[\]"\\])+', re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d{3})Z")
_BLANK = "".join(map(chr, range(33)))
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_INTEGERS = {Type.INT8: s.INT8, Type.INT16: s.INT16, Type.INT32: s.INT32, Type.INT64: s.INT64}
_WIDENING: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_LARGEST_EXPONENT = 1000
"""Beyond it a number is no integer whatever its digits: the digits are not worth writing out."""


class Literal(NamedTuple):
    """A value and its schema; None where the elements have no common type."""

    value: Any
    schema: Schema | None


_WORDS = {"true": Literal(True, s.BOOLEAN), "false": Literal(False, s.BOOLEAN)}


class _NoLiteralError(Exception):
    """A container does not end as it began: the whole text is then a string."""


def parse_literal(text: str) -> Literal:
    """The typed value of a text."""
    trimmed = text.strip(_BLANK)
    if trimmed == "null":
        return Literal(None, None)
    if trimmed in _WORDS:
        return _WORDS[trimmed]
    tokens = _Tokens([found.group() for found in _TOKEN.finditer(text)])
    try:
        found = _container(tokens)
    except _NoLiteralError:
        return Literal(text, s.STRING)
    if found is not None:
        return found
    first = tokens.rest_of_temporal() or (tokens.list[0] if tokens.list else text)
    return _scalar(first.strip(_BLANK)) or Literal(text, s.STRING)


@dataclass(slots=True)
class _Tokens:
    """The tokens of a text and the place of the next one."""

    list: list[str]
    at: int = 0

    def take(self, *expected: str) -> str | None:
        """The next token that is not blank, if it is one of these."""
        place = self.at
        while place < len(self.list) and not self.list[place].strip(_BLANK):
            place += 1
        if place < len(self.list) and self.list[place].strip(_BLANK) in expected:
            self.at = place + 1
            return self.list[place].strip(_BLANK)
        return None

    def next(self) -> str:
        if self.at >= len(self.list):
            raise _NoLiteralError
        self.at += 1
        return self.list[self.at - 1]

    def rest_of_temporal(self) -> str | None:
        """The text of the next five tokens, when they are a time or a moment."""
        text = "".join(self.list[self.at : self.at + 5]).strip(_BLANK)
        if _temporal(text) is None:
            return None
        self.at += 5 if ":" in text else 1
        return text


def _container(tokens: _Tokens) -> Literal | None:
    if tokens.take("["):
        return _array(tokens)
    return _map(tokens) if tokens.take("{") else None


def _element(tokens: _Tokens) -> Literal:
    if tokens.take('"'):
        return _quoted(tokens)
    found = _container(tokens)
    if found is not None:
        return found
    text = tokens.rest_of_temporal() or tokens.next()
    text = text.strip(_BLANK)
    if text == "null":
        return Literal(None, None)
    scalar = _WORDS.get(text) or _scalar(text)
    if scalar is None:
        raise _NoLiteralError
    return scalar


def _quoted(tokens: _Tokens) -> Literal:
    parts: list[str] = []
    while (token := tokens.next()) != '"':
        parts.append(token)
    text = "".join(parts)
    return _temporal(text) or Literal(text, s.STRING)


def _array(tokens: _Tokens) -> Literal:
    elements: list[Literal] = []
    closed = tokens.take("]") is not None
    while not closed:
        elements.append(_element(tokens))
        closed = _closed(tokens, "]")
    items = _common([e.schema for e in elements])
    return Literal(_fitted(elements, items), s.array(items) if items is not None else None)


def _map(tokens: _Tokens) -> Literal:
    pairs: list[tuple[Literal, Literal]] = []
    closed = tokens.take("}") is not None
    while not closed:
        key = _element(tokens)
        if key.value is None or isinstance(key.value, list | dict) or not tokens.take(":"):
            raise _NoLiteralError
        pairs.append((key, _element(tokens)))
        closed = _closed(tokens, "}")
    keys, items = _common([k.schema for k, _ in pairs]), _common([v.schema for _, v in pairs])
    value = dict(zip(_fitted([k for k, _ in pairs], keys), _fitted([v for _, v in pairs], items), strict=True))
    return Literal(value, s.map_of(keys, items) if keys is not None and items is not None else None)


def _closed(tokens: _Tokens, end: str) -> bool:
    found = tokens.take(end, ",")
    if found is None:
        raise _NoLiteralError
    # A comma may be the last thing before the end.
    return found == end or tokens.take(end) is not None


def _common(schemas: list[Schema | None]) -> Schema | None:
    """The widest of numeric schemas, or the one all have; nulls have none."""
    present = [schema for schema in schemas if schema is not None]
    types = {schema.type for schema in present}
    if present and types <= set(_WIDENING):
        return max(present, key=lambda schema: _WIDENING.index(schema.type))
    return present[0] if len(types) == 1 else None


def _fitted(elements: list[Literal], schema: Schema | None) -> list[Any]:
    if schema is not None and any(e.value is None for e in elements):
        raise _NoLiteralError
    floats = schema is not None and schema.type in {Type.FLOAT32, Type.FLOAT64}
    return [float(e.value) if floats else e.value for e in elements]


def _scalar(text: str) -> Literal | None:
    return _temporal(text) or (_number(text) if _NUMBER.fullmatch(text) else None)


def _number(text: str) -> Literal | None:
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return None  # an exponent beyond any number
    _, _, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    if exponent <= _LARGEST_EXPONENT and exact == exact.to_integral_value():
        for kind, bits in BITS.items():
            if exact.adjusted() < 20 and wrapped(int(exact), bits) == exact:
                return Literal(int(exact), _INTEGERS[kind])
    wide = float(exact)
    if exponent and abs(to_float32(wide)) != float("inf"):
        return Literal(to_float32(wide), s.FLOAT32)
    if exponent and abs(wide) != float("inf"):
        return Literal(wide, s.FLOAT64)
    return Literal(exact, s.decimal(-exponent))


def _temporal(text: str) -> Literal | None:
    day, _, clock = text.replace("\\:", ":").partition("T")
    if not clock and (found := _CLOCK.fullmatch(day)):
        moment = _EPOCH + _span(found)
        return Literal(moment.time(), s.TIME_SCHEMA) if moment.date() == _EPOCH.date() else None
    found_day = _DAY.fullmatch(day)
    if found_day is None:
        return None
    try:
        midnight = _EPOCH + dt.timedelta(days=day_number(*map(int, found_day.groups())))
        if not clock:
            return Literal(midnight.date(), s.DATE_SCHEMA) if "T" not in text else None
        found_clock = _CLOCK.fullmatch(clock)
        return Literal(midnight + _span(found_clock), s.TIMESTAMP_SCHEMA) if found_clock else None
    except OverflowError:
        return None  # no such moment in Python: it stays a text


def _span(found: re.Match[str]) -> dt.timedelta:
    hours, minutes, seconds, ms = map(int, found.groups())
    return dt.timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=ms)
