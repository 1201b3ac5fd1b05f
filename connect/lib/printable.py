"""Makes texts harmless that come from elsewhere, and numbers readable, before a person sees them."""

from __future__ import annotations

from typing import Final

_CONTROLS: Final = [code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"]
_DIRECTIONS: Final = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""These characters change the direction in which others are shown."""
_ENDS: Final = (0x2028, 0x2029)
"""These characters end a line or a paragraph, as nobody expects of a name."""
_SURROGATES: Final = range(0xD800, 0xE000)
# The escapes are JSON's, which itself escapes the controls of ASCII, so that a JSON text means the same afterwards.
_ESCAPES: Final = {code: f"\\x{code:02x}" if code < 0x7F else f"\\u{code:04x}"
                   for code in (*_CONTROLS, *_DIRECTIONS, *_ENDS, *_SURROGATES)}  # fmt: skip


def printable(text: str) -> str:
    """Return the text with characters that steer a terminal, or cannot be encoded, written as escapes.

    Tabs and ends of lines stay: a trace has many lines.
    """
    return text.translate(_ESCAPES)


def counted(count: float, noun: str) -> str:
    """Return a number with its noun: `1 row`, `10,000 rows`."""
    return f"{count:,.0f} {noun}{'' if count == 1 else 's'}"


def without_known_plugins(text: str) -> str:
    """Return Kafka Connect's sentence on an unknown class without its list of all plug-ins, which fills a screen."""
    said, listed, _ = text.partition(", available connectors are: ")
    return f"{said}. `connect plugins` lists those that there are." if listed else text
