"""Checks which changes of the log the first read has seen, segment by segment."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
import pytest
from jdbc_answers import Answers
from jdbc_pgoutput import Log, rows_of

from connect.api.errors import ConnectError
from connectors.jdbc.log.postgres.pgoutput import Changes, LogState, Messages, Relation, decode
from connectors.jdbc.log.postgres.segments import shown
from connectors.jdbc.log.postgres.tables import SOURCE, LogTable
from connectors.jdbc.log.shared.envelope import EventFormat
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.log.shared.snapshot_visibility import (
    SnapshotVisibility,
    ahead_of,
    hidden,
    is_passed,
    restored,
    stored,
)
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.columns import RowFormat, TimeRules

EARLY, LATE = SnapshotVisibility("5:5:", 10_000), SnapshotVisibility("9:9:", 20_000)
BY = ("id",)


def test_a_read_that_is_broken_off_goes_on_in_a_segment_of_its_own():
    first = Fence().goes_on(BY, (), None)
    second = first.goes_on(BY, ("30",), EARLY)
    third = second.goes_on(BY, ("70",), LATE)
    assert third.segments == (Segment(None, ("30",)), Segment(EARLY, ("70",)), Segment(LATE))
    assert third.bounds == (("30",), ("70",))
    masks = hidden(third, np.array([4, 7, 9]), np.array([50, 50, 50]))
    assert [mask.tolist() for mask in masks] == [[False] * 3, [True, False, False], [True, True, False]]


def test_a_snapshot_hides_what_had_committed_when_it_was_taken():
    # Below 7 all had ended, 8 ran; the log has the lower half of a number.
    seen = SnapshotVisibility(f"7:{2**32 + 10}:8", 10_000)
    xids, before = np.array([6, 8, 9, 10, 11]), 9_999
    assert seen.hides(xids, np.full(5, before)).tolist() == [True, False, True, False, False]
    assert seen.hides(xids, np.full(5, 10_000)).tolist() == [False] * 5, "it committed behind the snapshot"
    assert SnapshotVisibility("5:5:", 10_000).hides(np.array([2**32 - 1]), np.array([50])).tolist() == [True], (
        "before the wrap"
    )


def test_a_fence_is_passed_behind_the_last_of_its_snapshots_alone():
    fence = Fence(BY, (Segment(None, ("3",)), Segment(EARLY, ("5",)), Segment(LATE)))
    assert [is_passed(fence, lsn) for lsn in (0, 10_000, 19_999, 20_000)] == [False, False, False, True]
    assert is_passed(Fence(), 0), "behind the snapshot of the slot there is nothing to hide"


def test_rows_in_another_order_are_all_read_again_and_no_change_since_the_first_of_them_is_hidden():
    begun = Fence(BY, (Segment(EARLY, ("30",)), Segment(LATE)))
    assert begun.goes_on(("other",), ("30",), LATE) == Fence(("other",), (Segment(EARLY),))
    assert begun.goes_on(BY, (), LATE) == Fence(BY, (Segment(LATE),)), "nothing of it was read"


def test_parts_of_a_table_that_were_read_by_many_are_its_segments_and_neighbours_of_one_snapshot_are_one():
    broken_off = Fence().goes_on(BY, (), EARLY).goes_on(BY, ("3",), LATE)
    parts = [(Fence(BY, (Segment(EARLY),)), ("9",)), (Fence(BY, (Segment(EARLY),)), ("19",)), (broken_off, None)]
    joined = Fence.joined(parts)
    assert joined == Fence(BY, (Segment(EARLY, ("3",)), Segment(LATE)))
    assert Fence.joined([(joined, ("29",)), (Fence(BY, (Segment(EARLY),)), None)]).bounds == (("3",), ("29",))


def test_rows_in_another_order_cannot_go_on_where_rows_cannot_be_read_again():
    begun = Fence(BY, (Segment(EARLY),))
    assert begun.goes_on_within(BY, ("30",), LATE, "a").bounds == (("30",),)
    assert begun.goes_on_within(("other",), (), LATE, "a") == Fence(("other",), (Segment(LATE),)), "nothing was read"
    with pytest.raises(ConnectError, match="key of table a was changed"):
        begun.goes_on_within(("other",), ("30",), LATE, "a")


def test_fences_come_back_from_their_json_and_end_behind_their_last_snapshot():
    fences = {"public.a": Fence(BY, (Segment(None, ("3",)), Segment(LATE))), "public.b": Fence((), (Segment(EARLY),))}
    assert restored(stored(fences)) == fences
    assert set(ahead_of(fences, 9_999)) == {"public.a", "public.b"}
    assert set(ahead_of(fences, 10_000)) == {"public.a"}
    assert ahead_of(fences, 20_000) == {}


def _changes(log: Log) -> tuple[LogTable, Changes]:
    log.commit()
    (item,) = decode(Messages.of(log.messages), LogState())
    assert isinstance(item, Changes)
    return _table(item.relation), item


def _table(relation: Relation) -> LogTable:
    form = RowFormat("public.a", "a", (), TimeRules(ZoneInfo("UTC"), "connect_logical"))
    return LogTable(TableName("public", "a"), relation, form, EventFormat("a", form.schema, BY, SOURCE), (23, 25))


def test_an_update_over_the_edge_of_a_segment_is_what_is_left_of_it():
    log = Log()
    log.begin(4)
    log.relation(1, "a", [("id", 23), ("name", 25)])
    log.insert(1, ["1", "read before it"])
    log.insert(1, ["9", "read behind it"])
    log.update(1, ["9", "went"], old=["1", None])
    log.update(1, ["1", "came"], old=["9", None])
    log.update(1, ["9", "stays"])
    log.delete(1, ["9", None])
    log.delete(1, ["1", None])
    table, item = _changes(log)
    fence = Fence(BY, (Segment(None, ("5",)), Segment(EARLY)))
    # The rows behind the changes, then those before them: 0 up to the bound, 1 behind it.
    answers = Answers([(0,), (1,), (1,), (0,), (1,), (0,), (1,), (1,), (0,)])
    kept = shown(item, table, fence, answers)  # type: ignore[arg-type]  # it answers as a database does
    assert [(kind, place, old, new) for _, kind, _, place, old, new in rows_of(kept)] == [
        ("I", 1, None, ("1", "read before it")),
        ("D", 3, ("1", None), None),
        ("I", 4, None, ("1", "came")),
        ("D", 7, ("1", None), None),
    ]


def test_the_server_is_not_asked_where_all_snapshots_agree():
    log = Log()
    log.begin(4)
    log.relation(1, "a", [("id", 23), ("name", 25)])
    log.insert(1, ["1", "seen by both"])
    table, item = _changes(log)
    nobody = Answers()
    both = Fence(BY, (Segment(EARLY, ("5",)), Segment(LATE)))
    assert not len(shown(item, table, both, nobody).origin)  # type: ignore[arg-type]
    neither = Fence(
        BY, (Segment(SnapshotVisibility("3:3:", 10_000), ("5",)), Segment(SnapshotVisibility("4:4:", 10_000)))
    )
    assert len(shown(item, table, neither, nobody).origin) == 1  # type: ignore[arg-type]


def test_changes_of_a_table_that_has_another_order_by_now_are_told_unless_every_snapshot_has_them():
    log = Log()
    log.begin(7)
    log.relation(1, "a", [("id", 23), ("name", 25)])
    log.insert(1, ["1", "seen by the later one"])
    log.delete(1, ["2", None])
    table, item = _changes(log)
    for segments, told in (
        ((Segment(None, ("5",)), Segment(LATE)), 2),
        ((Segment(EARLY, ("5",)), Segment(LATE)), 2),
        ((Segment(LATE, ("5",)), Segment(EARLY)), 2),
        ((Segment(LATE, ("5",)), Segment(LATE)), 0),
    ):
        assert len(shown(item, table, Fence(("name",), segments), Answers()).origin) == told  # type: ignore[arg-type]
