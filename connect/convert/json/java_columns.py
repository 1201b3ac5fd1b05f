"""Turns columns of numbers with fractions into the texts that Java writes. Pure."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.convert.plain.columns import NotColumnarError

_PLAIN_MIN, _PLAIN_MAX = 1e-3, 1e7
"""Between these, the second one excluded, Java writes a number without an exponent, as Arrow does."""
DENORMAL_MAX: Final = {pa.float64(): 1e-300, pa.float32(): 1e-37}
"""Below, a number may have but one digit, of which Java makes two in a way of its own (4.9E-324)."""
_NUMBER: Final = r"^(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<fraction>\d*))?(?:e\+?(?P<exponent>-?\d+))?$"


def java_numbers(numbers: pa.Array) -> pa.StringArray:
    """Return the shortest texts of finite numbers, as 1.0, 0.5 and 1.0E16. NotColumnarError for the very smallest."""
    sizes = pc.abs(numbers)
    zero = pc.equal(sizes, 0)
    if pc.any(pc.and_not(pc.less(sizes, DENORMAL_MAX[numbers.type]), zero)).as_py():
        raise NotColumnarError("a number of too few digits")
    texts = numbers.cast(pa.utf8())
    plain = pc.or_(zero, pc.and_(pc.greater_equal(sizes, _PLAIN_MIN), pc.less(sizes, _PLAIN_MAX)))
    has_point = pc.match_substring(texts, ".")
    texts = pc.if_else(pc.or_(pc.invert(plain), has_point), texts, pc.binary_join_element_wise(texts, ".0", ""))
    others = pc.fill_null(pc.invert(plain), False)
    if not pc.any(others).as_py():
        return texts
    return pc.replace_with_mask(texts, others, _with_exponent(texts.filter(others)))


def _with_exponent(texts: pa.StringArray) -> pa.StringArray:
    """Return d.ddE±n for numbers that are not 0, from any of the usual forms."""
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
