"""Converts moments from one form to another, by way of milliseconds since the epoch. Pure."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.lib.javatext.calendar import DAY_MS
from connect.lib.javatext.date_format import DateFormat
from connect.transforms.cast.values import epoch_ms
from connect.transforms.structure.java_names import class_name, schema_text

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PER_MS = {"microseconds": 1000, "nanoseconds": 1_000_000}
_INT64 = 2**63


class Form(StrEnum):
    """Names the forms of a moment, as `target.type` spells them."""

    STRING = "string"
    UNIX = "unix"
    DATE = "Date"
    TIME = "Time"
    TIMESTAMP = "Timestamp"


_SCHEMAS = {
    Form.STRING: s.STRING, Form.UNIX: s.INT64, Form.DATE: s.DATE_SCHEMA, Form.TIME: s.TIME_SCHEMA,
    Form.TIMESTAMP: s.TIMESTAMP_SCHEMA,
}  # fmt: skip
_LOGICAL = {s.DATE: Form.DATE, s.TIME: Form.TIME, s.TIMESTAMP: Form.TIMESTAMP}


def target_schema(form: Form, *, optional: bool) -> Schema:
    """Return the schema of moments in a form."""
    return _SCHEMAS[form].as_optional(optional)


def form_of(schema: Schema) -> Form:
    """Return the form that values of a schema have. SchemaError: they are no moments."""
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.type is Type.STRING:
        return Form.STRING
    if schema.type is Type.INT64:
        return Form.UNIX
    raise SchemaError(f"Schema {schema_text(schema)} does not correspond to a known timestamp type format")


class Moments:
    """Converts moments from any form to one. A schemaless date is a moment, as Java has one class for all of them.

    It is immutable.
    """

    def __init__(self, target: Form, pattern: str, precision: str, *, this_year: int) -> None:
        """Take the target form; `pattern` may be empty if neither form is a text.

        `this_year` tells the century of years of two digits.
        """
        self.target = target
        self.format = DateFormat(pattern, this_year) if pattern else None
        self.precision = precision

    def convert(self, value: Any, schema: Schema | None) -> Any:
        """Return the moment in the target form. SchemaError: the value is no moment."""
        if value is None:
            return None
        source = form_of(schema) if schema is not None else _inferred(value)
        return self.written(self.read(value, source), schemaless=schema is None)

    def read(self, value: Any, source: Form) -> int:
        """Return the moment as milliseconds since the epoch."""
        if source is Form.STRING:
            return self._parsed(value)
        return self.unix_to_ms(value) if source is Form.UNIX else epoch_ms(value)

    def written(self, ms: int, *, schemaless: bool = False) -> Any:
        """Return the moment in the target form."""
        match self.target:
            case Form.STRING:
                assert self.format is not None
                return self.format.format(ms)
            case Form.UNIX:
                return self.ms_to_unix(ms)
            case Form.DATE:
                moment = _moment(ms - ms % DAY_MS)
                return moment if schemaless else moment.date()
            case Form.TIME:
                moment = _moment(ms % DAY_MS)
                return moment if schemaless else moment.time()
        return _moment(ms)

    def unix_to_ms(self, value: int) -> int:
        """Return milliseconds, rounded towards zero if the unit is finer than a millisecond."""
        if self.precision == "seconds":
            return _saturated(value * 1000)
        per_ms = _PER_MS.get(self.precision, 1)
        return value // per_ms if value >= 0 else -(-value // per_ms)

    def ms_to_unix(self, ms: int) -> int:
        """Return a moment in the unit of `unix.precision`; a number beyond 64 bits becomes the largest or smallest
        one.
        """
        if self.precision == "seconds":
            return ms // 1000 if ms >= 0 else -(-ms // 1000)
        return _saturated(ms * _PER_MS.get(self.precision, 1))

    def _parsed(self, value: Any) -> int:
        if not isinstance(value, str):
            raise SchemaError(f"Expected string timestamp to be a String, but found class {class_name(value, None)}")
        if self.format is None:
            raise SchemaError(f"The timestamp is a string ({value}).", fix="Set `format` to the string's pattern.")
        try:
            return self.format.parse(value)
        except ValueError:
            raise SchemaError(
                f"Could not parse timestamp: value ({value}) does not match pattern ({self.format.pattern})"
            ) from None


def _inferred(value: Any) -> Form:
    match value:
        case dt.date() | dt.time():
            return Form.TIMESTAMP
        case int() if not isinstance(value, bool):
            return Form.UNIX
        case str():
            return Form.STRING
    raise SchemaError(f"TimestampConverter does not support class {class_name(value, None)} objects as timestamps")


def _moment(ms: int) -> dt.datetime:
    try:
        return _EPOCH + dt.timedelta(milliseconds=ms)
    except OverflowError:
        raise SchemaError(f"{ms} ms since the epoch lie outside the years 1 to 9999.") from None


def _saturated(value: int) -> int:
    return max(-_INT64, min(_INT64 - 1, value))
