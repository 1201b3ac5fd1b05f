"""Checks where a log is read on that a standby wrote on from before the connector's place."""

from __future__ import annotations

from connectors.jdbc.log.postgres.timelines import back_at, fork_of, furthest_lsn, told_fork
from connectors.jdbc.log.shared.position import Coordinate, LogPosition, SnapshotPlace, TransactionProgress, read_offset
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility

HISTORY = "1\t0/3000158\tno recovery target specified\n\n2\t1/A0\tbefore 2026-01-01\n"


def test_the_fork_is_where_the_timeline_of_the_place_was_left():
    assert fork_of(HISTORY, 1) == 0x3000158
    assert fork_of(HISTORY, 2) == 0x1_0000_00A0
    assert fork_of(HISTORY, 3) is None
    assert fork_of("", 1) is None


def test_nothing_that_was_committed_behind_the_fork_counts_as_delivered():
    position = LogPosition(
        120, Coordinate(150, 2), {"a": Coordinate(150, 9), "b": Coordinate(90, 1)}, timeline=1,
        told=TransactionProgress(7, 130, 1), fences={"a": Fence(("id",), (Segment(SnapshotVisibility("5:5:", 140)),))},
    )  # fmt: skip
    assert furthest_lsn(position) == 150
    back = back_at(position, 100)
    assert (back.commit_lsn, back.reached, back.told, back.fences) == (100, Coordinate(100), None, {})
    assert back.ahead == {"a": Coordinate(100), "b": Coordinate(90, 1)}
    assert furthest_lsn(back) == 100
    # A transaction of before the fork that was delivered in part is behind it on both servers.
    assert back_at(position, 140).commit_lsn == 120


def test_a_first_read_that_goes_on_keeps_what_its_snapshots_have_seen():
    fences = {"a": Fence(("id",), (Segment(SnapshotVisibility("5:5:", 140)),))}
    position = LogPosition(120, snapshot=SnapshotPlace((), "a", ("1",)), fences=fences)
    assert back_at(position, 100).fences == fences


def test_the_timeline_is_stored_with_the_place_and_unknown_of_older_ones():
    assert read_offset(LogPosition(5, timeline=3).offset()) == LogPosition(5, timeline=3)
    assert "timeline" not in LogPosition(5).offset()
    assert read_offset({"lsn": 5}).timeline == 0


def test_a_slot_that_begins_behind_the_fork_is_told():
    position = LogPosition(120, timeline=1)
    assert "are missing" in told_fork(position, 2, 100, 110)
    assert "are missing" not in told_fork(position, 2, 100, 100)
