"""Checks that the native sum of CRC-32s equals zlib's, whatever the lengths of rows, and so whichever way computes
them.
"""

from __future__ import annotations

import zlib

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connect import native
from connect.backfill.job.markers import checksum
from connect.kafka.raw import RawBatch

pytestmark = pytest.mark.skipif(native.module() is None, reason="NOT CHECKED: the native code is not there")
ROW = st.none() | st.binary(max_size=400)


@given(st.lists(st.tuples(ROW, ROW), max_size=20), st.sampled_from([pa.binary(), pa.large_binary()]))
@example([(None, None), (b"", b""), (None, b""), (b"", None)], pa.binary())
@example([(bytes(range(256)) * 4, bytes(length)) for length in range(200)], pa.binary())
def test_the_sum_is_that_of_zlib(rows, kind):
    values, keys = (pa.array([row[place] for row in rows], kind) for place in (0, 1))
    expected = sum(zlib.crc32(value or b"", zlib.crc32(key or b"", value is None)) for value, key in rows) % 2**64
    assert native.sum_crc32(values, keys) == expected
    assert native.sum_crc32(values[1:], keys[1:]) == (expected - one(rows[0])) % 2**64 if rows else True
    assert native.sum_crc32(values, None) == sum(one((value, None)) for value, _ in rows)


def one(row):
    value, key = row
    return zlib.crc32(value or b"", zlib.crc32(key or b"", value is None))


def test_columns_that_are_no_bytes_or_of_other_lengths_are_refused():
    for values, keys in ((pa.array([1]), None), (pa.array([b"1"]), pa.array([b"1", b"2"]))):
        with pytest.raises(ValueError, match="binary or string columns of one length"):
            native.sum_crc32(values, keys)


def test_a_checksum_is_the_same_without_native_code(monkeypatch):
    batch = RawBatch("t", pa.array([b"x" * 1000, None, b""], pa.binary()), pa.array([b"1", b"2", None], pa.binary()))
    found = checksum(batch)
    monkeypatch.setattr(native, "module", lambda: None)
    assert checksum(batch) == found
