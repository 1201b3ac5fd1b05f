"""Reads Java's .properties syntax from a text into keys and values. Pure.

Source: java.util.Properties.load(Reader), JDK 17. Comments begin with `#` or `!`; separators are `=`, `:` or white
space. A line that ends in `\\` goes on in the next one. Escapes are `\\t \\n \\r \\f \\uXXXX`; any other escaped
character stands for itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\f"
_TRAILING_BACKSLASHES = re.compile(r"\\*$")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Return the properties in file order. If a key is given twice, the last value counts.

    Raise ValueError, which names the line, for a bad escape.
    """
    return dict(_pairs(text))


def keys_twice(text: str) -> list[str]:
    """Return the keys that are given more than once, in file order. ValueError: as by `parse_properties`."""
    return [key for key, count in Counter(key for key, _ in _pairs(text)).items() if count > 1]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        separator = _SEPARATOR.match(line, key.end() if key else 0)
        assert key is not None
        assert separator is not None
        try:
            yield _unescaped(key.group()), _unescaped(line[separator.end() :])
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    first = 0
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(_BLANK)
        if not parts:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = _TRAILING_BACKSLASHES.search(line)
        assert backslashes is not None
        if len(backslashes.group()) % 2:
            parts.append(line[:-1])
            continue
        yield first, "".join([*parts, line])
        parts = []
    if parts:
        yield first, "".join(parts)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    # A character beyond the BMP is written as two escapes, one for each half.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(match: re.Match[str]) -> str:
    escaped = match.group(1)
    if escaped == "u":
        raise ValueError("\\u needs four hexadecimal digits.")
    if len(escaped) == 5:
        return chr(int(escaped[1:], 16))
    return _CONTROL.get(escaped, escaped)
