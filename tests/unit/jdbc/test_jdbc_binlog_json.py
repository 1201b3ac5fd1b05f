"""Reads MySQL's binary JSON: every kind of value is the text that a query gives, whatever it is nested in."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.jdbc.log.binlog.values import JSON, LoggedColumn, reader
from connectors.jdbc.values.temporal import Misfit

_read = reader(JSON, b"\x04", LoggedColumn("c"))


def _sized(data: bytes) -> bytes:
    size, head = len(data), b""
    while size > 127:
        head += bytes((size & 0x7F | 0x80,))
        size >>= 7
    return head + bytes((size,)) + data


def _scalar(value) -> tuple[int, bytes]:
    if value is None or isinstance(value, bool):
        return 4, bytes((0 if value is None else 1 if value else 2,))
    if isinstance(value, int):
        for kind, form in ((5, "<h"), (6, "<H"), (7, "<i"), (8, "<I"), (9, "<q"), (10, "<Q")):
            try:
                return kind, struct.pack(form, value)
            except struct.error:
                continue
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    return 12, _sized(value.encode())


def _stored(value, *, large: bool) -> tuple[int, bytes]:
    """As MySQL stores it: names first, values behind them, small ones among the entries."""
    if not isinstance(value, dict | list):
        return _scalar(value)
    width, number = (4, "<I") if large else (2, "<H")
    is_object = isinstance(value, dict)
    pairs = sorted(value.items(), key=lambda p: (len(p[0].encode()), p[0])) if is_object else [("", v) for v in value]
    names = [name.encode() for name, _ in pairs]
    values = [_stored(v, large=large) for _, v in pairs]
    at = 2 * width + len(pairs) * (width + 1 + (width + 2) * is_object)
    key_entries, value_entries, content = b"", b"", b""
    for name in names if is_object else ():
        key_entries += struct.pack(number, at + len(content)) + struct.pack("<H", len(name))
        content += name
    for kind, data in values:
        if kind in {4, 5, 6} or (large and kind in {7, 8}):
            value_entries += bytes((kind,)) + data.ljust(width, b"\0")
        else:
            value_entries += bytes((kind,)) + struct.pack(number, at + len(content))
            content += data
    body = key_entries + value_entries + content
    return (0 if is_object else 2) + large, struct.pack(number, len(pairs)) + struct.pack(
        number, 2 * width + len(body)
    ) + body


def _document(value, *, large: bool = False) -> bytes:
    kind, data = _stored(value, large=large)
    return bytes((kind,)) + data


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=40)
@given(_VALUES, st.booleans())
def test_a_document_comes_back_from_its_binary_form(value, large):
    assert json.loads(_read(_document(value, large=large))) == value


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (b"", "null"),
        (_document({"bb": [1, 2.0, "x"], "a": {}}), '{"a": {}, "bb": [1, 2.0, "x"]}'),
        (_document('q"\\/\b\f\n\r\t\x01\x7fé😀'), '"q\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7fé😀"'),
        (_document(1e15), "1e15"),
        (_document(-1636257250011481.8), "-1636257250011481.8"),
        (_document(1234567890123456.0), "1.234567890123456e15"),
        (_document(123456789012345.0), "123456789012345.0"),
        (_document(-1.5e300), "-1.5e300"),
        (_document(1e-7), "0.0000001"),
        (_document(1.25e-16), "1.25e-16"),
        (_document(-0.0), "-0.0"),
        (b"\x0f\x0d\x01\x07", '"base64:type13:Bw=="'),
        (b"\x0f\x0a\x08" + struct.pack("<q", ((2024 * 13 + 2) << 5 | 29) << 17 << 24), '"2024-02-29"'),
        (
            b"\x0f\x0c\x08" + struct.pack("<q", (((2024 * 13 + 2) << 5 | 29) << 17 | 23 << 12 | 59 << 6 | 1) << 24 | 5),
            '"2024-02-29 23:59:01.000005"',
        ),
        (b"\x0f\x0b\x08" + struct.pack("<q", -((838 << 12 | 59 << 6 | 58) << 24)), '"-838:59:58.000000"'),
    ],
)
def test_a_value_has_mysqls_text(stored, text):
    assert _read(stored).decode() == text


def test_decimals_keep_their_digits():
    # DECIMAL(6,2) of 1234.56: the sign bit is set, whole digits and fraction in two bytes and one.
    stored = bytes((0x80 | 1234 >> 8, 1234 & 0xFF, 56))
    assert _read(b"\x0f\xf6" + _sized(b"\x06\x02" + stored)) == b"1234.56"


@pytest.mark.parametrize("stored", [b"\x00\x01", b"\x0c\x7f", b"\x0e", b"\x00\x01\x00\xff\xff\x00\x00", b"\x04\x07"])
def test_bytes_that_are_no_document_are_a_misfit(stored):
    with pytest.raises(Misfit):
        _read(stored)


def _shared(levels: int) -> bytes:
    """Return a document of arrays whose two entries name one and the same array behind them."""
    both = struct.pack("<HH", 2, 0) + struct.pack("<BH", 2, 10) * 2
    return b"\x02" + both * levels + struct.pack("<HH", 0, 4)


_SAME_TEXT = (
    b"\x03" + struct.pack("<II", 5000, 0) + struct.pack("<BI", 12, 8 + 5 * 5000) * 5000 + _sized(b"x" * 100_000)
)


@pytest.mark.attacks
@pytest.mark.parametrize(
    "stored",
    [
        _shared(16),
        _shared(60),
        _SAME_TEXT,
        b"\x02" + struct.pack("<HHBH", 1, 0, 2, 0),
        b"\x0c" + b"\xff" * 5_000_000 + b"\0",
    ],
    ids=["2^16 arrays", "2^60 arrays", "one text, 5000 times", "an array in itself", "a size without an end"],
)
def test_a_document_that_grows_when_it_is_read_is_a_misfit(stored):
    with pytest.raises(Misfit):
        _read(stored)
