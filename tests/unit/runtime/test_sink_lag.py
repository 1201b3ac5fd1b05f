"""Checks how far a sink says that it is behind, when it commits again and again while more rows come."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pytest

from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch
from connect.runtime.settings.loop_limits import SinkLimits
from connect.runtime.sink.commits import SinkCommits
from connect.runtime.sink.partitions import SinkPartitions
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports

TP = TopicPartition("t", 0)


class Topic:
    """Has rows up to an end, of which all were polled or none."""

    def __init__(self):
        self.end = self.polled = self.unreadable = 0
        self.reached = {}
        self.deleted = {}
        self.committed_before = {}
        self.commits = []

    def end_offsets(self):
        return {TP: self.end} if self.end else {}

    def position(self, partitions):
        return {TP: self.polled} | self.reached

    @property
    def fetched(self):
        return self

    def of(self, partitions):
        return dict.fromkeys(partitions, self.end + self.unreadable)

    def deleted_unread(self):
        return self.deleted

    def reached_ends(self):
        return self.reached

    def committed(self, partitions, _deadline):
        return self.committed_before

    def commit(self, offsets, _deadline):
        self.commits.append(dict(offsets))


class Target:
    """A sink that has made rows durable up to an offset."""

    def __init__(self):
        self.claims = {}

    def flush(self, _deadline):
        return self.claims


class Path(NamedTuple):
    """What of a record path a flush needs."""

    task: Target
    dead_letters: None = None


class Sink:
    def __init__(self, now_s):
        self.topic, self.partitions, self.target = Topic(), SinkPartitions(), Target()
        self.partitions.assign([TP])
        self.figures = TaskFigures(clock_s=lambda: now_s[0])
        limits = SinkLimits(60, 1, 0.01, max_records=100, put_timeout_s=1)
        self.commits = SinkCommits(Path(self.target), self.topic, self.partitions, limits, TaskReports(self.figures))

    def lag_s(self):
        self.commits.tell_lag()
        return self.figures.snapshot()["lag_s"]

    def lag_rows(self):
        self.commits.tell_lag()
        return self.figures.snapshot()["lag_rows"]

    def take(self, rows, at_s):
        raw = self.read(rows, at_s)
        self.partitions.took(TP, raw)

    def read(self, rows, at_s):
        first, self.topic.polled = self.topic.polled, self.topic.polled + rows
        offsets = pa.array(range(first, first + rows), pa.int64())
        times = pa.array([int(at_s * 1000)] * rows, pa.int64())
        values = pa.array([b"v"] * rows, pa.binary())
        raw = RawBatch("t", values, None, partition=0, offsets=offsets, timestamps_ms=times, next_offset=first + rows)
        self.partitions.read(TP, raw)
        return raw


@pytest.fixture
def now_s(monkeypatch):
    now_s = [1_000.0]
    monkeypatch.setattr("time.time", lambda: now_s[0])
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    return now_s


def test_a_sink_that_commits_while_more_rows_come_is_not_behind_since_the_first_of_them(now_s):
    sink = Sink(now_s)
    for _ in range(600):
        sink.topic.end += 10
        assert sink.lag_s() <= 1.0
        sink.take(sink.topic.end - sink.topic.polled, now_s[0])
        sink.topic.end += 1  # comes while the sink commits
        sink.partitions.committed({TP: sink.topic.polled})
        assert sink.lag_s() <= 1.0
        now_s[0] += 1.0


def test_a_sink_that_reads_nothing_is_behind_since_rows_were_first_seen(now_s):
    sink = Sink(now_s)
    sink.topic.end = 10
    assert sink.lag_s() == 0.0
    for _ in range(30):
        now_s[0] += 1.0
        sink.topic.end += 10
        sink.commits.tell_lag()
    assert sink.lag_s() == 30.0


def test_rows_that_are_taken_and_not_committed_count_from_their_own_time(now_s):
    sink = Sink(now_s)
    sink.topic.end = 10
    sink.take(10, at_s=now_s[0] - 50)
    assert sink.lag_s() == 50.0
    sink.partitions.committed({TP: 10})
    assert sink.lag_s() == 0.0


def test_marks_of_transactions_behind_the_last_row_are_no_rows_that_wait(now_s):
    sink = Sink(now_s)
    sink.topic.end = 1_002  # ten rows, the mark of their transaction, and one that was aborted
    sink.take(10, at_s=now_s[0])
    sink.partitions.committed({TP: 10})
    sink.topic.reached = {TP: 1_002}
    now_s[0] += 600.0
    assert (sink.lag_s(), sink.lag_rows()) == (0.0, 0)
    sink.topic.end = 1_020
    assert (sink.lag_s(), sink.lag_rows()) == (0.0, 18)
    now_s[0] += 3.0
    assert sink.lag_s() == 3.0


def test_the_end_behind_marks_is_committed_once_every_row_before_it_is_durable(now_s):
    sink = Sink(now_s)
    sink.topic.end = 1_002
    sink.take(10, at_s=now_s[0])
    sink.topic.reached, sink.target.claims = {TP: 1_002}, {TP: 4}
    sink.commits.flush()
    sink.target.claims = {TP: 10}
    sink.commits.flush()
    sink.target.claims = {}
    sink.commits.flush()
    assert sink.topic.commits == [{TP: 4}, {TP: 1_002}]
    sink.topic.end, sink.topic.reached = 1_003, {TP: 1_003}
    sink.commits.flush()
    assert sink.topic.commits[2:] == [{TP: 1_003}]


def test_no_end_is_committed_behind_rows_that_were_read_and_not_taken(now_s):
    sink = Sink(now_s)
    sink.take(10, at_s=now_s[0])
    sink.read(5, at_s=now_s[0])
    sink.topic.end, sink.topic.reached, sink.target.claims = 16, {TP: 16}, {TP: 10}
    sink.commits.flush()
    assert sink.topic.commits == [{TP: 10}]
    assert sink.lag_rows() == 6


@pytest.mark.parametrize(("committed", "commits"), [({TP: 10}, [{TP: 1_002}]), ({}, []), ({TP: 1_002}, [])])
def test_a_sink_that_has_read_no_row_moves_a_commit_behind_marks_and_makes_none(now_s, committed, commits):
    sink = Sink(now_s)
    sink.topic.end, sink.topic.reached, sink.topic.committed_before = 1_002, {TP: 1_002}, committed
    sink.commits.flush()
    sink.topic.committed_before = {TP: 3}
    sink.commits.flush()
    assert sink.topic.commits == commits


def test_rows_that_were_read_and_that_the_sink_has_not_taken_wait(now_s):
    sink = Sink(now_s)
    sink.topic.end = sink.topic.polled = 40
    sink.partitions.firsts[TP] = 0
    sink.commits.tell_lag()
    assert sink.figures.snapshot()["lag_rows"] == 40


def test_rows_that_come_while_a_quiet_sink_is_paused_are_behind_since_they_were_seen(now_s):
    sink = Sink(now_s)
    sink.topic.end = sink.topic.polled = 10
    sink.topic.reached = {TP: 10}
    assert sink.lag_s() == 0.0
    sink.topic.end = 30
    sink.commits.tell_lag()
    now_s[0] += 7.0
    assert sink.lag_s() == 7.0


def test_rows_that_were_deleted_before_the_sink_read_them_do_not_wait(now_s):
    sink = Sink(now_s)
    sink.topic.end = 40
    sink.take(10, at_s=now_s[0])
    sink.topic.deleted = {TP: range(10, 37)}
    assert sink.lag_rows() == 13, "10 are taken and not committed, 3 are there to be read"
    sink.partitions.committed({TP: 10})
    assert (sink.lag_rows(), sink.lag_s()) == (3, 0.0)
    now_s[0] += 5.0
    assert sink.lag_s() == 5.0
    sink.topic.deleted = {TP: range(10, 40)}
    assert (sink.lag_rows(), sink.lag_s()) == (0, 0.0)


def test_rows_that_were_passed_over_do_not_wait_until_those_before_them_are_committed(now_s):
    sink = Sink(now_s)
    sink.topic.end = 40
    sink.take(10, at_s=now_s[0])
    sink.partitions.lag.passed(TP, range(10, 37))
    sink.topic.polled = 37
    assert sink.lag_rows() == 13
    sink.take(3, at_s=now_s[0])
    assert sink.lag_rows() == 13
    assert sink.partitions.lag.uncommitted() == {TP: 13}, "the sink keeps no row that it never got"
    sink.partitions.committed({TP: 38})
    assert sink.lag_rows() == 2


def test_rows_that_come_while_a_put_does_not_return_are_behind(now_s):
    sink = Sink(now_s)
    sink.topic.end = 20
    sink.take(20, at_s=now_s[0])
    sink.partitions.committed({TP: 20})
    sink.commits.tell_lag()
    sink.topic.end = 70
    sink.read(50, at_s=now_s[0])  # the thread of the task is in a put from now on
    now_s[0] += 1.5
    assert sink.figures.snapshot()["lag_rows"] == 0, "the task looks again in a moment"
    now_s[0] += 13.5
    sink.topic.end = 120
    stuck = sink.figures.snapshot()
    assert (stuck["lag_rows"], stuck["lag_s"]) == (100, 15.0)
    now_s[0] += 30.0
    assert sink.figures.snapshot()["lag_s"] == 45.0
    assert (sink.lag_rows(), sink.lag_s()) == (100, 45.0), "it has not begun anew once the put has failed"


def test_rows_of_an_open_transaction_are_no_lag_while_a_put_does_not_return(now_s):
    sink = Sink(now_s)
    sink.topic.end, sink.topic.unreadable = 20, 500
    sink.take(20, at_s=now_s[0])
    sink.partitions.committed({TP: 20})
    sink.commits.tell_lag()
    now_s[0] += 15.0
    assert (sink.figures.snapshot()["lag_rows"], sink.figures.snapshot()["lag_s"]) == (0, 0)
    sink.topic.end = 50
    assert sink.figures.snapshot()["lag_rows"] == 30


def test_a_put_that_does_not_return_while_nothing_more_comes_keeps_what_was_told(now_s):
    sink = Sink(now_s)
    sink.topic.end = 20
    sink.read(20, at_s=now_s[0])
    sink.commits.tell_lag()
    now_s[0] += 60.0
    assert (sink.figures.snapshot()["lag_rows"], sink.figures.snapshot()["lag_s"]) == (20, 60.0)


def test_the_first_rows_of_a_partition_are_told_at_once_as_their_put_may_not_return(now_s):
    sink = Sink(now_s)
    sink.commits.tell_lag()
    sink.topic.end = 15
    sink.read(15, at_s=now_s[0])
    sink.commits.tell_lag_if_due(read={TP})
    assert sink.figures.snapshot()["lag_rows"] == 15
    sink.topic.end = 40
    now_s[0] += 30.0
    assert (sink.figures.snapshot()["lag_rows"], sink.figures.snapshot()["lag_s"]) == (40, 30.0)
