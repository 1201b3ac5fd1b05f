"""Rows of MySQL's text protocol become columns with every byte, null and length in its place."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.jdbc.values.byte_fields import PADDING, counted_fields

VALUES = st.none() | st.binary(max_size=40) | st.sampled_from([b"x" * 250, b"y" * 251, b"z" * 70_000])


def encoded(value: bytes | None) -> bytes:
    if value is None:
        return b"\xfb"
    size = len(value)
    if size < 0xFB:
        return bytes([size]) + value
    return (b"\xfc" + size.to_bytes(2, "little") if size < 1 << 16 else b"\xfd" + size.to_bytes(3, "little")) + value


def columns_of(rows: list[tuple[bytes | None, ...]]) -> list[pa.Array]:
    packets = [b"head" + b"".join(map(encoded, row)) for row in rows]
    ends = np.cumsum([len(p) for p in packets])
    starts = np.array([0, *ends[:-1]], np.int64) + 4
    return [f.binary() for f in counted_fields(bytearray(b"".join(packets) + bytes(PADDING)), starts, len(rows[0]))]


@pytest.mark.thorough
@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=30))
def test_every_field_comes_back(rows: list[tuple[bytes | None, ...]]):
    columns = columns_of(rows)
    for column in columns:
        column.validate(full=True)
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == rows


def test_text_that_is_not_utf8_is_refused():
    packet = bytearray(encoded(b"\xff" * 40) + bytes(PADDING))
    (field,) = counted_fields(packet, np.zeros(1, np.int64), 1)
    with pytest.raises(pa.ArrowInvalid, match="UTF"):
        field.text()
