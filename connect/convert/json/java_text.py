"""Turns decimals into Connect's bytes, and JSON strings into the text that Jackson writes. Pure."""

from __future__ import annotations

import re
from decimal import Decimal

_ESCAPES = {i: f"\\u{i:04X}" for i in range(32)} | {
    8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\",
}  # fmt: skip
_MOST_DIGITS = 10_000
_SPECIAL = re.compile(r'[\x00-\x1f"\\\ud800-\udfff\U00010000-\U0010ffff]')


def unscaled_bytes(value: Decimal, scale: int) -> bytes:
    """Return Connect's bytes of a decimal: its unscaled value as minimal big-endian two's complement.

    ValueError when the value needs more fraction digits than the scale has.
    """
    unscaled = unscaled_value(value, scale)
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(size, "big", signed=True)


def unscaled_value(value: Decimal, scale: int) -> int:
    """Return the value times 10**scale. ValueError when that is no integer."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "NaN and infinities are no Connect decimals"
    number = int("".join(map(str, digits)) or "0")
    shift = exponent + scale
    if abs(shift) > _MOST_DIGITS:
        # Ten to such a power is not worth building: 1e999999999 would fill the memory.
        if number:
            raise ValueError(f"the decimal has an exponent of {exponent}")
        return 0
    if shift < 0:
        divisor: int = 10**-shift
        number, lost = divmod(number, divisor)
        if lost:
            raise ValueError(f"the decimal {value} needs more than {scale} fraction digits")
    else:
        number *= 10**shift
    return -number if sign else number


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """Return the decimal `unscaled` times 10**-scale, with all its digits whatever the current context."""
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -scale))


def json_string(text: str) -> str:
    """Return a JSON string as Jackson's UTF-8 generator writes it.

    Escapes are in upper case, characters outside the BMP are two escapes.
    """
    return f'"{_SPECIAL.sub(_escape, text)}"' if _SPECIAL.search(text) else f'"{text}"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code >= 0x10000:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
    return _ESCAPES.get(code) or f"\\u{code:04X}"
