"""Reads the JSON of bytes and of Connect's logical types as Python values, row by row. Pure."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema
from connect.convert.json.jackson import without_space, wrap
from connect.convert.json.java_text import decimal_of, unscaled_value
from connect.convert.json.text import Node

Reader = Callable[[Node], Any]
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY_MS = 86_400_000
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def mismatch(kind: str, node: Node, path: str) -> SchemaError:
    """Return the error that a value is of another JSON type."""
    shown = repr(node) if len(repr(node)) <= 40 else f"{repr(node)[:40]}…"
    return SchemaError(f"expected {kind}, found {node_type(node)} {shown}.", field=path)


def node_type(node: Node) -> str:
    """Return Jackson's name of a JSON value's type."""
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


def read_bytes(node: Node, path: str, *, java: bool) -> bytes | None:
    """Return the bytes of a base64 text; None only for what is no text and `java`."""
    if not isinstance(node, str):
        if java:
            return None
        raise mismatch("bytes", node, path)
    return _decoded(node, "Invalid bytes field", path, java=java)


def _decoded(text: str, message: str, path: str, *, java: bool) -> bytes:
    if java:
        # Jackson's decoder skips white space between groups of four characters, not inside one.
        text = without_space(text)
    if not _BASE64.fullmatch(text):
        raise SchemaError(f"{message}: no base64 text.", field=path)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise SchemaError(f"{message}: {error}.", field=path) from None


def decimal_reader(schema: Schema, path: str, *, java: bool) -> Reader:
    """Return a function that reads decimals, as base64 or numbers, with the scale of the schema (`java`: their own)."""

    def fit(value: Decimal) -> Decimal:
        try:
            scale = schema.decimal_scale
            return decimal_of(unscaled_value(value, scale), scale)
        except ValueError as error:
            raise SchemaError(f"Invalid value for Decimal: {error}", field=path) from None

    def read(node: Node) -> Decimal:
        if type(node) in {int, Decimal}:
            return Decimal(node) if java else fit(Decimal(node))
        if not isinstance(node, str):
            raise SchemaError(
                "Invalid type for Decimal, underlying representation should be numeric or bytes but was "
                f"{node_type(node)}",
                field=path,
            )
        data = _decoded(node, "Invalid bytes for Decimal field", path, java=java)
        if not data:
            raise SchemaError("Invalid bytes for Decimal field: zero length.", field=path)
        try:
            return decimal_of(int.from_bytes(data, "big", signed=True), schema.decimal_scale)
        except ValueError as error:
            raise SchemaError(f"Invalid scale parameter found in Decimal schema: {error}", field=path) from None

    return read


def instant_reader(name: str, path: str, *, java: bool) -> Reader:
    """Return a function that reads a Date, Time or Timestamp."""

    short = name.removeprefix(s.LOGICAL)
    bits = 64 if name == s.TIMESTAMP else 32
    make = {s.DATE: _date, s.TIME: _time, s.TIMESTAMP: _timestamp}[name]

    def read(node: Node) -> Any:
        wraps = java and name == s.TIMESTAMP and type(node) is int
        number = wrap(node, 64) if wraps else node
        if type(number) is not int or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise SchemaError(
                f"Invalid type for {short}, underlying representation should be integer but was {node_type(node)}",
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
