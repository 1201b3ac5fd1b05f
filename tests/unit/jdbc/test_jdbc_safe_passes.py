"""Transactions as PostgreSQL counts them, and the passes that read what has ended since the last one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from connect.api.errors import ConnectError
from connectors.jdbc.connection.pages import Page
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.late_commits import IdMarks, SnapshotPasses, TimestampMarks
from connectors.jdbc.settled.server_lineage import Lineage, Lineages
from connectors.jdbc.settled.settled_time import Observation
from connectors.jdbc.settled.snapshots import Snapshot, ended_after, ended_by, pin
from connectors.jdbc.settled.table_parts import Parts
from connectors.jdbc.values.java_zones import instant_us, unrepeated_us, wall_clock
from tests.unit.jdbc.jdbc_answers import BERLIN, HOUR_US, Answers, at, seen, us


class Servers(Lineages):
    """Servers in the order they are met, and the first transaction of each."""

    def __init__(self, *met: Lineage, first: int | None = None) -> None:
        self._met = list(met)
        self._first = first

    def now(self, _database: object) -> Lineage:
        return self._met.pop(0) if len(self._met) > 1 else self._met[0]

    def first_number(self, _database: object) -> int | None:
        return self._first


ONE = Lineage("1700000000.5", "7710/00000001")


class OneTable:
    """A table with this oid, and the parts that it gets."""

    def __init__(self, oid: int | None = 7, *attached: int) -> None:
        self.parts = Parts(oid, attached)

    def now(self, _database: object, _ended: Snapshot | None, _running: Snapshot) -> Parts:
        return self.parts

    def rows_of(self, parts: Parts) -> sa.ColumnElement[bool]:
        return sa.column("tableoid").in_(parts.attached)


class Rows:
    """A mode whose pages hold one row each: the next id."""

    order: tuple[sa.ColumnElement[Any], ...] = ()
    keep: tuple[int, ...] = ()

    def __init__(self, at: offsets.Offset | None) -> None:
        self.id = offsets.id_of(at) or 0

    def after(self, _form: object) -> Sequence[Any]:
        return ()

    def delivered(self, _page: Page) -> offsets.Offset | None:
        self.id += 1
        return offsets.timestamp_incrementing(us(at(self.id)), self.id)

    def finished(self, until_us: int | None) -> offsets.Offset | None:
        return None


def test_the_mark_moves_with_the_pass_after_one_that_was_broken_off():
    observed = iter([seen(5, 4), seen(60, 50), seen(61, 50)])

    class Watch:
        def observe(self, _database: object) -> Observation:
            return next(observed)

    modes: list[Rows] = []

    def mode(at: offsets.Offset | None) -> Rows:
        modes.append(Rows(at))
        return modes[-1]

    marks = TimestampMarks(lambda instant: offsets.timestamp_incrementing(instant, -1), lambda settled: settled)
    passes = SnapshotPasses(mode, sa.column("xmin"), Watch(), marks, None, parts=OneTable(), lineages=Servers(ONE))
    row: Any = pa.array([{"a": 1}])
    first = [(7, 9, [7])], ("7:9:7", False), [(7, "in progress")]
    database = Answers(*first, [(9, 9, [])], ("9:9:", False), [(9, 9, [])], ("9:9:", False))
    passes.begin(database)
    passes.delivered(Page(row, (), ()))
    passes.begin(database)
    broken = passes.delivered(Page(row, (), None))
    assert offsets.mark_of(broken) is None
    assert offsets.safe_pass_of(broken)[0] == "7:9:7"
    passes.begin(database)
    assert offsets.mark_of(passes.finished(None)) == offsets.timestamp_incrementing(us(at(2)), 2)


@pytest.mark.parametrize("stored", [("5:9:", "9:20:"), (None, "9:20:"), ("5:20:", None)])
def test_transactions_of_another_server_let_everything_after_the_mark_come_again(stored, caplog):
    mark = offsets.timestamp_incrementing(us(at(1)), 1)
    begun: list[offsets.Offset | None] = []

    def mode(at: offsets.Offset | None) -> Rows:
        begun.append(at)
        return Rows(at)

    class Watch:
        def observe(self, _database: object) -> Observation:
            return seen(10, 9)

    place = offsets.safe_pass(mark, *stored, at=None if stored[1] is None else mark | {"incrementing": 7})
    passes = SnapshotPasses(mode, sa.column("xmin"), Watch(), IdMarks(), place, parts=OneTable(), lineages=Servers(ONE))
    assert len(passes.begin(Answers([(9, 10, [])], ("10:10:", False)))) == 1
    assert begun[-1] == mark
    assert "come again" in caplog.text


@pytest.mark.parametrize(
    ("now", "first", "kept"),
    [
        (ONE, None, "5:20:7"),
        (Lineage("1700000009.5", ONE.history), 20, "5:20:7"),
        # What came after the start of a server that crashed is not what was read.
        (Lineage("1700000009.5", ONE.history), 9, "5:9:7"),
        (Lineage("1700000009.5", ONE.history), 3, "3:3:"),
        (Lineage("1700000009.5", ""), None, "5:20:7"),
        (Lineage("1700000009.5", "7710/00000002"), 40, None),
        (Lineage("1700000009.5", "1234/00000001"), 40, None),
    ],
)
def test_numbers_of_transactions_mean_something_as_far_as_a_server_did_not_give_them_out_again(now, first, kept):
    class Watch:
        def observe(self, _database: object) -> Observation:
            return seen(10, 9)

    mark = offsets.timestamp_incrementing(us(at(1)), 1)
    marks = TimestampMarks(lambda instant: offsets.timestamp_incrementing(instant, -1), lambda settled: settled)
    place = offsets.safe_pass(mark, "5:20:7", server=ONE.text)
    passes = SnapshotPasses(
        Rows, sa.column("xmin"), Watch(), marks, place, parts=OneTable(), lineages=Servers(now, first=first)
    )
    conditions = passes.begin(Answers([(30, 30, [])], ("30:30:", False)))
    assert len(conditions) == (1 if kept is None else 2)
    if kept is not None:
        literals = {"compile_kwargs": {"literal_binds": True}, "dialect": postgresql.dialect()}
        assert f"'{kept}'" in str(conditions[1].compile(**literals))
    passes.delivered(Page(pa.array([{"a": 1}]), (), ()))
    assert offsets.safe_server_of(passes.delivered(Page(pa.array([{"a": 1}]), (), None))) == now.text


class StillNow:
    def observe(self, _database: object) -> Observation:
        return seen(10, 9)


def test_rows_of_a_part_that_was_attached_count_as_committed_with_it():
    place = offsets.safe_pass(offsets.incrementing(5), "5:20:7", server=ONE.text, table=7)
    watched = OneTable(7, 70)
    passes = SnapshotPasses(Rows, sa.column("xmin"), StillNow(), IdMarks(), place, parts=watched, lineages=Servers(ONE))
    answers = [(30, 30, [])], ("30:30:", False)
    _, unread = passes.begin(Answers(*answers))
    assert str(unread).endswith("OR tableoid IN (__[POSTCOMPILE_tableoid_1])"), unread
    watched.parts = Parts(7)
    passes.finished(None)
    _, unread = passes.begin(Answers(*answers))
    assert "tableoid" not in str(unread)


@pytest.mark.parametrize(("stored", "again"), [(7, False), (None, False), (6, True)])
def test_rows_after_the_mark_come_again_from_another_table_of_the_name(stored, again, caplog):
    place = offsets.safe_pass(offsets.incrementing(5), "5:20:7", server=ONE.text, table=stored)
    passes = SnapshotPasses(
        Rows, sa.column("xmin"), StillNow(), IdMarks(), place, parts=OneTable(), lineages=Servers(ONE)
    )
    conditions = passes.begin(Answers([(30, 30, [])], ("30:30:", False)))
    assert len(conditions) == (1 if again else 2)
    assert ("replaced by another one" in caplog.text) is again
    assert offsets.safe_table_of(passes.delivered(Page(pa.array([{"a": 1}]), (), None))) == 7


def test_a_server_says_who_it_is_as_far_as_it_may():
    asked = Lineages()

    assert asked.now(Answers([("1700000000.5", ONE.history)])) == ONE
    assert asked.now(Answers([("1700000000.5", None)])) == Lineage("1700000000.5")
    assert asked.now(Answers(ConnectError("denied"), [("1700000000.5", "")])) == Lineage("1700000000.5")
    assert asked.now(Answers([("1700000000.5", "")])) == Lineage("1700000000.5")
    assert Lineage.parse(ONE.text) == ONE
    assert Lineage.parse(Lineage("1700000000.5").text) == Lineage("1700000000.5")
    assert asked.first_number(Answers([("3:17",)])) == 3 * 2**32 + 17
    assert asked.first_number(Answers([(None,)])) is None
    assert asked.first_number(Answers(ConnectError("denied"))) is None
    assert Lineage("2", "a/1").counts_on(Lineage("1", "a/1"))
    assert Lineage("2").counts_on(Lineage("1", "a/1"))
    assert not Lineage("2", "a/2").counts_on(Lineage("1"))


def test_a_snapshot_keeps_its_text():
    text = "743:755:745,750"
    assert Snapshot.parse(text) == Snapshot(743, 755, (745, 750))
    assert Snapshot.parse(text).text == text
    assert Snapshot.parse("5:5:").text == "5:5:"


def test_snapshots_of_another_server_or_of_long_ago_are_not_compared():
    assert Snapshot(5, 10).precedes(Snapshot(6, 12))
    assert not Snapshot(5, 10).precedes(Snapshot(5, 9))
    assert not Snapshot(5, 10).precedes(Snapshot(2**31, 2**31))


def test_the_lower_half_of_a_transaction_means_the_one_nearest_to_the_snapshot():
    past_two_billion = Snapshot(2**32 + 5, 2**32 + 7)
    sql = " ".join(
        str(e.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}))
        for e in (ended_by(past_two_billion, sa.column("xmin")), ended_after(past_two_billion, sa.column("xmin")))
    )
    assert "age('5'::xid)" in sql
    assert "4294967301:4294967303:" in sql
    assert f"{2**31 + 7} + (CAST(CAST(xmin AS TEXT) AS BIGINT) - {7 - 2**32 - 2**31})" in sql


def test_the_mark_stays_before_an_hour_that_comes_twice():
    first = us(datetime(2023, 10, 29, 0, 30, tzinfo=UTC))
    held = unrepeated_us(first, BERLIN)
    assert wall_clock(held, BERLIN) == datetime(2023, 10, 29, 1, 59, 59, 999999)  # noqa: DTZ001
    second = first + HOUR_US
    assert unrepeated_us(second, BERLIN) == second
    early = us(datetime(2023, 10, 28, 23, 30, tzinfo=UTC))
    assert unrepeated_us(early, BERLIN) == early
    assert instant_us(wall_clock(held, BERLIN), BERLIN) == held


OPEN, ENDED = "in progress", "committed"


@pytest.mark.parametrize(
    ("before", "shown", "states", "open_", "is_whole"),
    [
        ((5, 5, []), "5:5:", [], (), True),
        ((5, 8, [5, 6]), "5:8:5", [(6, OPEN), (5, OPEN)], (5, 6), True),
        # Transaction 6 belongs to 5, or has ended by itself: 5 was still open afterwards.
        ((5, 8, [5, 6]), "5:8:5", [(6, ENDED), (5, OPEN)], (5,), True),
        ((5, 8, [5, 6]), "5:8:5", [(6, ENDED), (5, ENDED)], (5, 6), False),
        ((5, 8, [5, 6]), "5:8:5", [(6, "aborted"), (5, "aborted")], (5,), True),
        ((5, 8, [5]), "8:8:", [(5, ENDED)], (), True),
        ((5, 8, []), "8:9:", [(8, ENDED)], (), True),
    ],
)
def test_what_a_snapshot_shows_counts_as_ended_and_what_it_may_hide_as_open(before, shown, states, open_, is_whole):
    pinned = pin(Answers(*([[before], (shown, False), *([states] if states else [])] * 5)))
    assert pinned.is_whole == is_whole
    assert pinned.snapshot.open == open_
    assert pinned.snapshot.lower == min([*open_, Snapshot.parse(shown).lower])


def test_a_standby_does_not_say_what_is_open_so_that_what_ended_just_now_waits():
    answers = [[(5, 8, [5])], ("8:8:", True), [(5, ENDED)]]
    assert pin(Answers(*answers * 5)) == (Snapshot(5, 8, (5,)), False)
    assert pin(Answers(*answers, [(8, 8, [])], ("8:8:", True))) == (Snapshot(8, 8), True)
