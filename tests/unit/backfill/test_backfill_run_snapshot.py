"""One snapshot of all chunks: who can have it, when a run holds it, and what is said where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from connect.api.errors import ConfigError
from connect.api.optional.bulk import BulkPlan, ReadSplit, Split, SplitSize
from connect.api.records import SourcePosition
from connect.backfill.lane.run_snapshot import RunSnapshot, length_warnings, planned_in_one
from connect.lib.deadline import Deadline

CHUNK = Split("t-1", {"from": 1}, 10)
PLAN = BulkPlan([CHUNK], (), is_fenced=True)


class Held:
    """A snapshot named 7."""

    is_open = True

    def placed(self, split: Split) -> Split:
        return replace(split, bounds={**split.bounds, "snapshot": 7})

    def close(self) -> None:
        self.is_open = False


class Logged:
    """A source that logs its changes, and is asked for its snapshots alone."""

    def __init__(self) -> None:
        self.held: list[Held] = []

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        raise NotImplementedError

    def bulk_reader(self) -> None:
        raise NotImplementedError

    def begin_bulk(self, plan: BulkPlan, deadline: Deadline) -> Sequence[SourcePosition]:
        raise NotImplementedError

    def following_behind(self, begun: Sequence[SourcePosition], read: Sequence[ReadSplit]) -> Sequence[SourcePosition]:
        raise NotImplementedError


class Snapshots(Logged):
    """One whose snapshots others can read in."""

    def in_one_snapshot(self, plan: BulkPlan) -> BulkPlan:
        return replace(plan, warnings=["vacuum waits"])

    def hold_snapshot(self, deadline: Deadline) -> Held:
        del deadline
        self.held.append(Held())
        return self.held[-1]


def test_a_run_that_begins_has_all_of_its_chunks_in_one_snapshot_until_it_ends():
    source, snapshot = Snapshots(), RunSnapshot()
    assert snapshot.placed(CHUNK) == CHUNK
    assert snapshot.hold(source, Deadline.after(5), is_begun=False) == ()
    assert [snapshot.placed(chunk).bounds["snapshot"] for chunk in (CHUNK, CHUNK)] == [7, 7]
    snapshot.close()
    assert not source.held[0].is_open
    assert snapshot.placed(CHUNK) == CHUNK
    snapshot.close()


def test_a_run_that_goes_on_holds_none_and_says_that_the_chunks_are_of_several(caplog: pytest.LogCaptureFixture):
    source, snapshot = Snapshots(), RunSnapshot()
    (warning,) = snapshot.hold(source, Deadline.after(5), is_begun=True)
    assert "not all of one moment" in warning
    assert warning in caplog.text
    assert (source.held, snapshot.placed(CHUNK)) == ([], CHUNK)


def test_only_a_source_that_logs_its_changes_and_shares_its_snapshots_is_planned_so():
    assert planned_in_one(PLAN, Snapshots(), "orders").warnings == ["vacuum waits"]
    for plan, source in ((replace(PLAN, is_fenced=False), Snapshots()), (PLAN, Logged())):
        with pytest.raises(ConfigError, match="orders follows no log") as refused:
            planned_in_one(plan, source, "orders")
        assert refused.value.key == "handover.mode"


def test_a_snapshot_that_is_held_for_over_an_hour_is_warned_of():
    assert (length_warnings(3600), length_warnings(None)) == ((), ())
    (warning,) = length_warnings(9000)
    assert "about 2.5 hours" in warning
