"""Columns of JSON texts brought into the bytes that Java writes: numbers with fractions, and escapes. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.convert.columns import NotColumnarError

PLAIN_MIN, PLAIN_MAX = 1e-3, 1e7
"""Between these, the second one excluded, Java writes a number without an exponent, as polars does."""
DENORMAL_MAX: Final = {pa.float64(): 1e-300, pa.float32(): 1e-37}
"""Below, a number may have but one digit, of which Java makes two in a way of its own (4.9E-324)."""
_NUMBER: Final = r"^(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<fraction>\d*))?(?:e\+?(?P<exponent>-?\d+))?$"
_ESCAPED: Final = r"\\u|[\xf0-\xf4]"
_CHARACTER: Final = re.compile(rb"\\(?:u[0-9a-f]{4}|.)|[\xf0-\xf4][\x80-\xbf]{3}")


def java_numbers(texts: pa.StringArray, numbers: pa.Array) -> pa.StringArray:
    """The shortest texts of finite numbers with Java's choice of exponents: 1e+16 and 10000000.0 become 1.0E16 and
    1.0E7. NotColumnarError for the very smallest."""
    sizes = pc.abs(numbers)
    zero = pc.equal(sizes, 0)
    if pc.any(pc.and_not(pc.less(sizes, DENORMAL_MAX[numbers.type]), zero)).as_py():
        raise NotColumnarError("a number of too few digits")
    plain = pc.or_(zero, pc.and_(pc.greater_equal(sizes, PLAIN_MIN), pc.less(sizes, PLAIN_MAX)))
    others = pc.fill_null(pc.invert(plain), False)
    if not pc.any(others).as_py():
        return texts
    return pc.replace_with_mask(texts, others, _with_exponent(texts.filter(others)))


def java_escapes(texts: pa.BinaryArray) -> pa.BinaryArray:
    """JSON texts with escapes in upper case, and two of them for a character outside the BMP.

    Only rows that hold such characters are touched.
    """
    rows = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED), False)
    if not pc.any(rows).as_py():
        return texts
    # No JSON text that polars writes holds a line end, so all rows are changed at once.
    changed = _CHARACTER.sub(_escape, b"\n".join(texts.filter(rows).to_pylist())).split(b"\n")
    return pc.replace_with_mask(texts, rows, pa.array(changed, texts.type))


def _with_exponent(texts: pa.StringArray) -> pa.StringArray:
    """d.ddE±n of numbers that are not 0, from any of the usual forms."""
    parts = pc.extract_regex(texts, _NUMBER)
    sign, whole, fraction, exponent = (parts.field(i) for i in range(4))
    digits = pc.binary_join_element_wise(whole, fraction, "")
    significant = pc.utf8_ltrim(digits, "0")
    moved = pc.subtract(pc.binary_length(whole), pc.subtract(pc.binary_length(digits), pc.binary_length(significant)))
    given = pc.if_else(pc.equal(exponent, ""), "0", exponent).cast(pa.int32())
    power = pc.subtract(pc.add(given, moved), 1).cast(pa.utf8())
    rest = pc.utf8_rtrim(pc.utf8_slice_codeunits(significant, 1), "0")
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    first = pc.utf8_slice_codeunits(significant, 0, 1)
    return pc.binary_join_element_wise(sign, first, ".", rest, "E", power, "")


def _escape(match: re.Match[bytes]) -> bytes:
    return _escaped(match.group())


@lru_cache(4096)
def _escaped(found: bytes) -> bytes:
    if found[0] != ord("\\"):
        code = ord(found.decode()) - 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}".encode()
    return b"\\u" + found[2:].upper() if found[1] == ord("u") else found
