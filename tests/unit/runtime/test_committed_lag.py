"""The lag of a sink counts what is not committed, whatever was read."""

from __future__ import annotations

from dataclasses import replace

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


def test_the_oldest_row_of_a_batch_counts_wherever_it_stands():
    lag = CommittedLag()
    raw = batch(0, 3, 0)
    lag.took(TP, replace(raw, timestamps_ms=pa.array([7_000, 3_000, 9_000], pa.int64())))
    lag.took(TP, batch(3, 1, 2_000))
    assert lag.oldest_ms() == 2_000
    assert lag.committed({TP: 4}) == [(3, 3_000), (1, 2_000)]


def test_a_sink_that_keeps_up_is_not_behind_since_rows_first_came():
    lag = CommittedLag()
    for second in range(100):  # ten rows a second: some are always under way
        assert lag.untaken_since_s({TP: 10 * second + 10}, {TP: 10 * second}, float(second)) == second
        lag.took(TP, batch(10 * second, 10, 1000 * second))
        lag.committed({TP: 10 * second + 10})
    assert lag.untaken_since_s({TP: 1000}, {TP: 1000}, 100.0) is None


def test_rows_that_are_not_taken_count_from_when_they_were_first_seen():
    lag = CommittedLag()
    assert lag.untaken_since_s({TP: 10}, {TP: 0}, 1.0) == 1.0
    lag.took(TP, batch(0, 5, 0))
    assert lag.untaken_since_s({TP: 90}, {TP: 90}, 2.0) == 1.0  # polled, and not taken: the target refuses them
    lag.took(TP, batch(5, 5, 0))
    assert lag.untaken_since_s({TP: 90}, {TP: 90}, 3.0) == 3.0
    lag.lost([TP])
    assert lag.untaken_since_s({}, {}, 4.0) is None
