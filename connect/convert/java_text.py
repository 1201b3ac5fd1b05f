"""Text of numbers and strings as Java and Jackson write it. Pure."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

_ESCAPES = {i: f"\\u{i:04X}" for i in range(32)} | {
    8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\",
}  # fmt: skip
_MOST_DIGITS = 10_000
_SPECIAL = re.compile(r'[\x00-\x1f"\\\ud800-\udfff\U00010000-\U0010ffff]')


def double_text(value: float) -> str:
    """`Double.toString` of Java 19 and later (JDK-4511638): the shortest digits that read back the same."""
    text = repr(value)
    # With two digits to write anyway, the two nearest to the value are taken: 4.9E-324, not 5.0E-324.
    if math.isfinite(value) and len(text.lstrip("-").partition("e")[0].replace(".", "").strip("0")) == 1:
        nearer = f"{value:.1e}"
        text = nearer if float(nearer) == value else text
    return _java_notation(value, text)


def float_text(value: float) -> str:
    """`Float.toString` of a number that a 32-bit float holds."""
    if not math.isfinite(value):
        return _java_notation(value, "")
    packed = struct.pack("<f", value)
    for digits in range(1, 9):
        text = f"{value:.{digits}e}"
        if abs(float(text)) < 3.5e38 and _packs_to(float(text), packed):
            break
    return _java_notation(value, text)


def _packs_to(value: float, packed: bytes) -> bool:
    try:
        return struct.pack("<f", value) == packed
    except OverflowError:
        return False


def _java_notation(value: float, text: str) -> str:
    if value != value:  # noqa: PLR0124 - NaN is the one value unequal to itself
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digit_tuple, exponent = Decimal(text).as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0")
    minus = "-" if sign or (value == 0 and math.copysign(1, value) < 0) else ""
    if not digits:
        return f"{minus}0.0"
    assert isinstance(exponent, int)
    point = len(digit_tuple) + exponent
    if -3 < point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{digits}"
        return f"{minus}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{minus}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def decimal_text(value: Decimal) -> str:
    """`BigDecimal.toString`: scientific for negative scales and below 1e-6."""
    sign, digit_tuple, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, digit_tuple)).lstrip("0") or "0"
    minus = "-" if sign and digits != "0" else ""
    adjusted = exponent + len(digits) - 1
    if exponent == 0:
        return minus + digits
    if exponent < 0 and adjusted >= -6:
        point = len(digits) + exponent
        whole, fraction = (digits[:point], digits[point:]) if point > 0 else ("0", "0" * -point + digits)
        return f"{minus}{whole}.{fraction}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{rest}E{adjusted:+d}" if adjusted else f"{minus}{digits[0]}{rest}"


def unscaled_bytes(value: Decimal, scale: int) -> bytes:
    """Connect's bytes of a decimal: its unscaled value as minimal big-endian two's complement.

    ValueError when the value needs more fraction digits than the scale has.
    """
    unscaled = unscaled_value(value, scale)
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(size, "big", signed=True)


def unscaled_value(value: Decimal, scale: int) -> int:
    """The value times 10**scale. ValueError when that is no integer."""
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
    """The decimal `unscaled` times 10**-scale, with all its digits whatever the current context."""
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -scale))


def json_string(text: str) -> str:
    """A JSON string as Jackson's UTF-8 generator writes it: escapes in upper case, characters outside the BMP as
    two escapes."""
    return f'"{_SPECIAL.sub(_escape, text)}"' if _SPECIAL.search(text) else f'"{text}"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code >= 0x10000:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
    return _ESCAPES.get(code) or f"\\u{code:04X}"
