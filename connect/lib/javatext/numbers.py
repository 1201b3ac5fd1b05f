"""Writes and reads numbers as Java does: `toString` of Double, Float and BigDecimal, and their parsers. Pure."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

_WHOLE = re.compile(r"[+-]?\d+")
_REAL = re.compile(r"[+-]?(NaN|Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_FLOAT32_NORMAL = 1.1754943508222875e-38
_BLANK = "".join(map(chr, range(33)))


def float64_text(value: float) -> str:
    """Return the text of `Double.toString` (JDK 19 and later: the shortest digits that read back the same)."""
    if not math.isfinite(value):
        return _not_finite(value)
    digits = repr(value)
    # Java writes at least two digits, and takes the nearest ones: 4.9E-324, not 5.0E-324.
    two = f"{value:.1e}"
    return _laid_out(value, two if float(two) == value else digits)


def float32_text(value: float) -> str:
    """Return the text of `Float.toString` for the 32-bit float nearest to a number."""
    value = to_float32(value)
    if not math.isfinite(value):
        return _not_finite(value)
    for digits in range(1, 9):
        text = f"{value:.{digits}e}"
        if abs(float(text)) < 3.4028236e38 and to_float32(float(text)) == value:
            break
    return _laid_out(value, text)


def decimal_text(value: Decimal) -> str:
    """Return the text of `BigDecimal.toString`, which has an exponent if the scale is negative or the value is below
    1e-6.
    """
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    # Decimal.__str__ follows the same rule (IBM's General Decimal Arithmetic), but for the sign of zero.
    return str(Decimal((0, digits, exponent)) if sign and not any(digits) else value)


def to_float32(value: float) -> float:
    """Return the nearest 32-bit float; it is infinite for a number beyond their range."""
    try:
        narrow: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return narrow


def shortest_float32(value: float) -> float:
    """Return the number with the fewest digits whose nearest 32-bit float is that of a number."""
    narrow = to_float32(value)
    if not math.isfinite(narrow):
        return narrow
    # Six digits at least tell these floats apart, but for those that are next to zero.
    for digits in range(6 if abs(narrow) >= _FLOAT32_NORMAL else 1, 9):
        short = float(f"{narrow:.{digits}g}")
        if to_float32(short) == narrow:
            return short
    return float(f"{narrow:.9g}")


def wrapped(value: int, bits: int) -> int:
    """Return the lowest bits of an integer as a signed number, as Java narrows it."""
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def truncated(value: float, bits: int) -> int:
    """Return the integer that Java's cast `(int)` or `(long)` makes of a float.

    NaN becomes 0, and a value out of range the nearest limit. For narrower types the 32-bit result is cut.
    """
    if math.isnan(value):
        return 0
    limit: int = 1 << (max(bits, 32) - 1)
    bounded = limit - 1 if value >= limit else -limit if value <= -limit else int(value)
    return wrapped(bounded, bits)


def parse_whole(text: str, bits: int) -> int:
    """Return the integer that `Integer.parseInt` and the like read. ValueError: the text is no integer, or out of
    range.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    number = int(text)
    if wrapped(number, bits) != number:
        raise ValueError(text)
    return number


def parse_real(text: str) -> float:
    """Return the number that `Double.parseDouble` reads. ValueError: the text is none.

    Blanks around the number, a type letter behind it, and hexadecimal floats are allowed.
    """
    trimmed = text.strip(_BLANK)
    if _HEXADECIMAL.fullmatch(trimmed):
        return float.fromhex(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" and _has_exponent(trimmed) else trimmed)
    found = _REAL.fullmatch(trimmed)
    if found is None:
        raise ValueError(text)
    if found.group(1) in {"NaN", "Infinity"}:
        return float(trimmed.replace("Infinity", "inf"))
    return float(trimmed.rstrip("fFdD"))


def parse_float32(text: str) -> float:
    """Return what `Float.parseFloat` reads: the 32-bit float nearest to the text itself, rounded once."""
    wide = parse_real(text)
    narrow = to_float32(wide)
    if not math.isfinite(narrow) or narrow == wide:
        return narrow
    exact = _exact(text.strip(_BLANK).rstrip("fFdD"))
    if exact is None:
        return narrow
    # Rounding to 64 bits and then to 32 bits may be off by one if the 64-bit value is halfway between two 32-bit ones.
    beside = [_next_float32(narrow, -1), narrow, _next_float32(narrow, 1)]
    return min(beside, key=lambda f: (abs(Decimal(f) - exact), f != narrow) if math.isfinite(f) else (exact + 1, True))


def _exact(text: str) -> Decimal | None:
    return Decimal(text) if not text.lower().lstrip("+-").startswith("0x") else None


def _next_float32(value: float, step: int) -> float:
    bits = struct.unpack("<i", struct.pack("<f", value))[0]
    if bits & 0x7FFFFFFF == 0:
        return math.copysign(2.0**-149, step)
    moved: float = struct.unpack("<f", struct.pack("<i", bits + (step if value > 0 else -step)))[0]
    return moved


def _has_exponent(text: str) -> bool:
    return "p" in text.lower()


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _laid_out(value: float, text: str) -> str:
    """Return a number as Java lays it out: in plain notation from 1e-3 to below 1e7, otherwise with an exponent."""
    minus = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return f"{minus}0.0"
    _, found, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, found))
    point = len(digits) + exponent
    digits = digits.rstrip("0")
    if -3 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    if 0 < point <= 7:
        return f"{minus}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{minus}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
