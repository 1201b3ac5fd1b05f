"""Reads JSON text as Python values with nothing lost: exact integers, `Decimal` where asked. Pure.

`read_exact` and `read_fast` take RFC 8259 texts; `read_lenient` takes what Jackson takes as Kafka's JsonDeserializer
sets it up: leading zeros, anything after the first value, lone surrogates, UTF-16 and UTF-32.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import orjson

from connect.api.values.strict_json import finite_number, no_constant

Node = Any
"""A JSON value, which is None, bool, int, float or Decimal, str, list or dict."""

MAX_DEPTH = 1000
MAX_DIGITS = 1000
_LONG_INTEGER = re.compile(rb"(?<![\d.eE+])\d{19,}(?![\d.eE])")
"""Integers that orjson may read as a double."""
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_LITERAL = re.compile(r"(true|false|null)(?![\w$])")
_CHUNK = re.compile(r'([^"\\\x00-\x1f]*)(["\\])')
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = {"true": True, "false": False, "null": None}
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonSyntaxError(ValueError):
    """The text is no JSON; the message says where."""


def read_fast(data: bytes) -> Node:
    """Return the value of an RFC 8259 text, numbers as int (exact) or float."""
    if _LONG_INTEGER.search(data):
        return _read_stdlib(data, finite_number)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return _leading_zeros_only(data, error, finite_number)


def read_exact(data: bytes) -> Node:
    """Return the value of an RFC 8259 text, numbers as int or Decimal."""
    return _read_stdlib(data, Decimal)


def _read_stdlib(data: bytes, number: Callable[[str], Any]) -> Node:
    try:
        node = json.loads(data.decode(), parse_float=number, parse_constant=no_constant)
    except (ValueError, ArithmeticError, RecursionError) as error:
        return _leading_zeros_only(data, error, number)
    if b"\\u" in data and _SURROGATE.search(json.dumps(node, ensure_ascii=False, default=str)):
        raise JsonSyntaxError("a string holds half a surrogate pair")
    return node


def _leading_zeros_only(data: bytes, error: Exception, number: Callable[[str], Any]) -> Node:
    """Read a text that is wrong only by leading zeros; raise JsonSyntaxError for any other.

    Numbers with leading zeros lose nothing and Java takes them (KAFKA-15012).
    """
    try:
        text = data.decode()
        parser = _Parser(text, number)
        node = parser.value()
        if _SPACE.fullmatch(text, parser.at) is None:
            raise JsonSyntaxError(f"text after the value at character {parser.at}")
    except ValueError:
        raise JsonSyntaxError(reason(error)) from None
    if parser.surrogates:
        raise JsonSyntaxError("a string holds half a surrogate pair")
    return node


def reason(error: Exception) -> str:
    """Return the reason why a text is no JSON, in words for people."""
    match error:
        case UnicodeDecodeError():
            return f"the bytes are no {error.encoding.upper()} text at byte {error.start} ({error.reason})"
        case json.JSONDecodeError() if error.msg.startswith(("Extra data", "unexpected content after")):
            return f"there is more behind the JSON value, from character {error.pos} on"
    return str(error)


def read_lenient(data: bytes) -> Node:
    """Return the first JSON value as Jackson reads it, numbers as int or Decimal. LookupError when there is none."""
    text = _decode(data)
    if _SPACE.fullmatch(text):
        raise LookupError("no JSON value")
    parser = _Parser(text, Decimal)
    node = parser.value()
    if (
        isinstance(node, (int, Decimal))
        and not isinstance(node, bool)
        and text[parser.at : parser.at + 1].strip(" \t\r\n")
    ):
        raise JsonSyntaxError(f"expected a space after the number at character {parser.at}")
    return node


def _decode(data: bytes) -> str:
    for bom, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            if len(data) == len(bom):
                raise JsonSyntaxError("only a byte order mark")
            return data[len(bom) :].decode(encoding)
    head = data[:4]
    match [byte == 0 for byte in head]:
        case [True, True, True, False]:
            return data.decode("utf-32-be")
        case [False, True, True, True]:
            return data.decode("utf-32-le")
        case [True, False, *_]:
            return data.decode("utf-16-be")
        case [False, True, *_]:
            return data.decode("utf-16-le")
    return data.decode()


class _Parser:
    """Reads one value without recursion, as deep as Jackson allows."""

    def __init__(self, text: str, number: Callable[[str], Any]) -> None:
        self.text = text
        self.at = 0
        self.surrogates = False
        self._number = number

    def value(self) -> Node:
        """Return the value at the current place."""
        stack: list[tuple[Node, str | None]] = []
        container: Node = None
        key: str | None = None
        while True:
            node, opened = self._start()
            if opened:
                stack.append((container, key))
                if len(stack) > MAX_DEPTH:
                    raise JsonSyntaxError(f"nested deeper than {MAX_DEPTH}")
                container = node
                if not self._take("]" if isinstance(node, list) else "}"):
                    key = self._key() if isinstance(node, dict) else None
                    continue
                container, key = stack.pop()
            while stack:
                if key is None:
                    container.append(node)
                else:
                    container[key] = node
                if self._take(","):
                    key = self._key() if isinstance(container, dict) else None
                    break
                if not self._take("]" if isinstance(container, list) else "}"):
                    raise self._error("a comma or the end")
                node = container
                container, key = stack.pop()
            else:
                return node

    def _start(self) -> tuple[Node, bool]:
        self._skip()
        char = self.text[self.at : self.at + 1]
        if char == "{":
            self.at += 1
            return {}, True
        if char == "[":
            self.at += 1
            return [], True
        if char == '"':
            return self._string(), False
        literal = _LITERAL.match(self.text, self.at)
        if literal:
            self.at = literal.end()
            return _LITERALS[literal.group()], False
        return self._number_at(), False

    def _number_at(self) -> Node:
        match = _NUMBER.match(self.text, self.at)
        if match is None or self.text[match.end() : match.end() + 1] in {".", "e", "E"} or not match.group().isascii():
            raise self._error("a value")
        self.at = match.end()
        if match.group(1) or match.group(2):
            return self._fraction(match.group())
        if len(match.group()) > MAX_DIGITS:
            raise JsonSyntaxError(f"a number of more than {MAX_DIGITS} digits")
        return int(match.group())

    def _fraction(self, text: str) -> Node:
        try:
            return self._number(text)
        except ArithmeticError:
            raise JsonSyntaxError(f"a number with an exponent out of range: {text[:40]}") from None

    def _key(self) -> str:
        self._skip()
        if self.text[self.at : self.at + 1] != '"':
            raise self._error("a field name")
        name = self._string()
        if not self._take(":"):
            raise self._error("a colon")
        return name

    def _string(self) -> str:
        parts = []
        self.at += 1
        while True:
            chunk = _CHUNK.match(self.text, self.at)
            if chunk is None:
                raise self._error("the end of a string")
            parts.append(chunk.group(1))
            self.at = chunk.end()
            if chunk.group(2) == '"':
                break
            parts.append(self._escape())
        return self._joined("".join(parts))

    def _joined(self, text: str) -> str:
        if _SURROGATE.search(text):
            text = _PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)
            self.surrogates = self.surrogates or _SURROGATE.search(text) is not None
        return text

    def _escape(self) -> str:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char == "u":
            code = _HEX.match(self.text, self.at)
            if code is None:
                raise self._error("four hexadecimal digits")
            self.at = code.end()
            return chr(int(code.group(), 16))
        if char not in _ESCAPED:
            raise self._error("an escape")
        return _ESCAPED[char]

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self.at)
        assert space is not None
        self.at = space.end()

    def _take(self, char: str) -> bool:
        self._skip()
        if self.text.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def _error(self, expected: str) -> JsonSyntaxError:
        found = self.text[self.at : self.at + 10] or "the end of the text"
        return JsonSyntaxError(f"expected {expected} at character {self.at}, found {found!r}")
