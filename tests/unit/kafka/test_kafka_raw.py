from dataclasses import replace

import pyarrow as pa
import pytest

from connect.kafka.raw import RawBatch, SharedHeaders


def batch() -> RawBatch:
    return RawBatch(
        "t",
        values=pa.array([b"a", None, b"", b"dddd"], pa.binary()),
        keys=pa.array([b"k", b"k2", None, b"k4"], pa.binary()),
        headers=[[("h", b"1")], [], [("h", None)], []],
        timestamps_ms=pa.array([1, 2, None, 4], pa.int64()),
        partition=3,
        offsets=pa.array([10, 11, 15, 16], pa.int64()),
        next_offset=17,
    )


def test_a_slice_keeps_every_column_and_the_next_offset():
    part = batch().slice(1, 3)

    assert part.values.to_pylist() == [None, b""]
    assert part.keys.to_pylist() == [b"k2", None]
    assert part.headers == [[], [("h", None)]]
    assert part.timestamps_ms.to_pylist() == [2, None]
    assert part.offsets.to_pylist() == [11, 15]
    assert part.next_offset == 17
    assert len(batch().slice(3, 99)) == 1


def test_take_keeps_the_order_asked_for():
    part = batch().take([3, 0])

    assert part.values.to_pylist() == [b"dddd", b"a"]
    assert part.headers == [[], [("h", b"1")]]
    assert part.offsets.to_pylist() == [16, 10]


def test_size_counts_the_bytes_of_these_rows_only():
    assert batch().size_bytes == 5 + 5
    assert batch().slice(2, 3).size_bytes == 0
    assert batch().slice(3, 4).size_bytes == 6


def test_shared_headers_are_those_of_each_record():
    shared = SharedHeaders((("h", b"1"),), 4)
    part = replace(batch(), headers=shared)

    assert list(shared) == [(("h", b"1"),)] * 4
    assert (shared[0], shared[-1]) == ((("h", b"1"),), (("h", b"1"),))
    assert part.slice(1, 3).headers == SharedHeaders((("h", b"1"),), 2)
    assert list(part.take([3, 0, 1]).headers) == [(("h", b"1"),)] * 3
    with pytest.raises(IndexError):
        shared[4]
    with pytest.raises(ValueError, match="3 headers for 4 values"):
        replace(batch(), headers=SharedHeaders((("h", b"1"),), 3))


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="1 keys for 2 values"):
        RawBatch("t", pa.array([b"a", b"b"], pa.binary()), keys=pa.array([b"k"], pa.binary()))
