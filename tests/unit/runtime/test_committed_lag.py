"""The lag of a sink counts what is not committed, whatever was read."""

from __future__ import annotations

import pyarrow as pa

from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch
from connect.runtime.task.committed_lag import CommittedLag

TP = TopicPartition("t", 0)


def batch(first: int, count: int, time_ms: int) -> RawBatch:
    return RawBatch(
        "t", pa.array([b"x"] * count, pa.binary()), partition=0, next_offset=first + count,
        offsets=pa.array(range(first, first + count), pa.int64()),
        timestamps_ms=pa.array([time_ms] * count, pa.int64()),
    )  # fmt: skip


def test_rows_that_were_read_and_not_committed_are_behind():
    lag = CommittedLag()
    lag.took(TP, batch(100, 10, 5_000))
    lag.took(TP, batch(110, 10, 6_000))
    assert lag.rows({TP: 120}, {TP: 120}) == 20
    assert (lag.uncommitted(), lag.oldest_ms()) == ({TP: 20}, 5_000)

    assert (lag.active_rows, lag.active_bytes) == (20, 20)

    assert lag.committed({TP: 110}) == [(10, 5_000)]
    assert lag.active_rows == 10
    assert lag.rows({TP: 130}, {TP: 120}) == 20
    assert (lag.uncommitted(), lag.oldest_ms()) == ({TP: 10}, 6_000)

    lag.committed({TP: 120})
    assert (lag.rows({TP: 120}, {TP: 120}), lag.uncommitted(), lag.oldest_ms()) == (0, {}, None)


def test_a_partition_of_which_nothing_was_read_counts_from_its_position():
    assert CommittedLag().rows({TP: 50, TopicPartition("t", 1): 7}, {TP: 20}) == 30


def test_a_partition_that_another_task_has_does_not_count():
    lag = CommittedLag()
    lag.took(TP, batch(0, 5, 1))
    lag.lost([TP])
    assert (lag.uncommitted(), lag.oldest_ms(), lag.active_rows, lag.active_bytes) == ({}, None, 0, 0)
