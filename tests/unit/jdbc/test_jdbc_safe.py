"""The horizon, the marks behind which nothing can appear, and transactions as PostgreSQL counts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from connect.api.errors import ConnectError
from connectors.jdbc import offsets
from connectors.jdbc.horizon import MariaDbHorizon, Observation, PostgresHorizon
from connectors.jdbc.lineage import Lineage, Lineages
from connectors.jdbc.modes import Begin
from connectors.jdbc.pages import Page
from connectors.jdbc.safe import HeldIds, IdMarks, SnapshotPasses, TimestampMarks
from connectors.jdbc.snapshots import Snapshot, ended_after, ended_by, pin
from connectors.jdbc.zone import EPOCH, instant_us, unrepeated_us, wall_clock, zone

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR_US = 3_600_000_000
SECOND_US = 1_000_000
BERLIN = zone("Europe/Berlin")


def us(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Answers:
    """A database that gives prepared answers."""

    is_mariadb = True
    dialect_name = "mariadb"

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def rows(self, statement: object, _doing: str) -> Sequence[Any]:
        answer = self._next()
        return answer(str(statement)) if callable(answer) else answer

    def run(self, _statement: str, _doing: str) -> None: ...

    def scalar(self, _statement: object, _doing: str) -> Any:
        return self._next()

    def pin(self, _doing: str) -> tuple[str, bool]:
        answer: tuple[str, bool] = self._next()
        return answer

    def end_transaction(self) -> None: ...

    def told(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except ConnectError:
            return None

    def _next(self) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def postgres(now_s: float, *open_: tuple[str, float | None]) -> Answers:
    work = [(None, name, None if started is None else at(started), None) for name, started in open_]
    return Answers([(at(now_s), None, None, None), *work])


def settled_s(observation: Observation) -> float:
    return (observation.settled_us - us(START)) / SECOND_US


def test_the_oldest_open_transaction_holds_the_horizon():
    horizon = PostgresHorizon(SECOND_US, HOUR_US)
    assert settled_s(horizon.observe(postgres(100.0, ("3/1", 90.0), ("4/7", 70.0)))) == 69.0
    assert settled_s(horizon.observe(postgres(101.0, ("3/1", 90.0)))) == 89.0
    assert settled_s(horizon.observe(postgres(102.0))) == 101.0


def test_a_clock_that_goes_back_by_more_than_the_settle_time_is_told_once(caplog: pytest.LogCaptureFixture):
    horizon = PostgresHorizon(5 * SECOND_US, HOUR_US)
    for now_s in (100.0, 96.0, 90.0, 89.0, 99.0, 101.0):
        horizon.observe(postgres(now_s))
    (record,) = caplog.records
    assert "clock went back by 10.0 s" in record.getMessage()
    assert "settle.time.ms" in record.getMessage()
    horizon.observe(postgres(50.0))
    assert len(caplog.records) == 2


def test_what_was_open_when_the_clock_went_back_holds_the_horizon_until_it_ends():
    horizon = PostgresHorizon(0, HOUR_US)
    assert settled_s(horizon.observe(postgres(100.0, ("3/1", 99.0)))) == 99.0
    assert settled_s(horizon.observe(postgres(50.0, ("3/1", 99.0)))) == 50.0
    assert settled_s(horizon.observe(postgres(55.0, ("3/1", 99.0)))) == 50.0
    assert settled_s(horizon.observe(postgres(60.0))) == 60.0


def test_without_the_right_to_see_it_a_start_is_after_the_look_that_did_not_have_it():
    horizon = PostgresHorizon(0, HOUR_US)
    assert settled_s(horizon.observe(postgres(100.0, ("3/1", None)))) == 100.0 - 3600.0
    assert settled_s(horizon.observe(postgres(101.0, ("3/2", None)))) == 100.0
    assert settled_s(horizon.observe(postgres(105.0, ("3/2", None), ("5/1", None)))) == 100.0
    assert settled_s(horizon.observe(postgres(106.0, ("5/1", None)))) == 101.0


def test_a_transaction_that_is_prepared_under_a_new_name_holds_the_horizon_where_it_was():
    horizon = PostgresHorizon(0, HOUR_US)
    horizon.observe(postgres(100.0, ("3/1", 60.0)))
    assert settled_s(horizon.observe(postgres(110.0, ("prepared transaction a", None)))) == 60.0


def test_a_forgotten_transaction_is_left_behind_and_named(caplog: pytest.LogCaptureFixture):
    horizon = PostgresHorizon(0, 100 * SECOND_US)
    assert settled_s(horizon.observe(postgres(500.0, ("Transaction 3/1 of process 42", 10.0)))) == 400.0
    assert "safe.horizon.max.ms is over for Transaction 3/1 of process 42" in caplog.text


def writes(*rows: tuple[int, datetime]) -> Callable[[str], Sequence[Any]]:
    """InnoDB's transactions by their connection, as a copy that was made for the statement that asks."""
    return lambda asked: [*((thread, began, 77, 1, None) for thread, began in rows), (1, START, 0, 0, asked)]


def test_a_mariadb_statement_that_waited_before_its_transaction_holds_the_horizon():
    horizon = MariaDbHorizon(0, HOUR_US)
    waits = Answers(at(100.0), [(7, 8_000, 0)], writes(), [])
    assert settled_s(horizon.observe(waits)) == 92.0
    now_open = Answers(at(101.0), [], writes((7, at(100.0))))
    assert settled_s(horizon.observe(now_open)) == 92.0
    assert settled_s(horizon.observe(Answers(at(102.0), [], writes((7, at(101.0)))))) == 101.0


def test_a_replicas_horizon_is_a_minute_behind_what_it_has_of_its_primary():
    behind = Answers([(at(100.0), None, None, at(95.0))])
    assert settled_s(PostgresHorizon(SECOND_US, HOUR_US).observe(behind)) == 34.0
    status = [SimpleNamespace(_mapping={"Seconds_Behind_Master": 10})]
    applies = Answers(at(100.0), [(4, 3_600_000, 1)], writes((9, at(98.0))), status)
    assert settled_s(MariaDbHorizon(SECOND_US, HOUR_US).observe(applies)) == 28.0


def test_a_transaction_that_is_open_on_the_primary_holds_the_horizon_of_a_standby():
    horizon, open_ = PostgresHorizon(0, HOUR_US), ("Transaction 755 of the primary", None)
    for now_s, work, settled in (
        (200.0, (), 140.0),
        (210.0, (open_,), 140.0),
        (300.0, (open_,), 140.0),
        (301.0, (), 241.0),
    ):
        rows = [(at(now_s), None, None, at(now_s)), *((None, name, began, None) for name, began in work)]
        assert settled_s(horizon.observe(Answers(rows))) == settled


def test_without_process_mariadb_rows_wait_for_a_settle_time_and_the_log_says_what_to_grant(caplog):
    horizon = MariaDbHorizon(SECOND_US, HOUR_US)
    answers = Answers(at(100.0), ConnectError("Access denied"), at(100.0), at(101.0))
    assert settled_s(horizon.observe(answers)) == 90.0
    assert settled_s(horizon.observe(answers)) == 91.0
    assert caplog.text.count("GRANT PROCESS ON *.*") == 1


def seen(now_s: float, settled: float) -> Observation:
    return Observation(us(at(now_s)), us(at(settled)))


def test_the_mark_of_timestamps_is_the_furthest_row_as_far_as_it_is_settled():
    begin = Begin(0, -1)
    marks = TimestampMarks(lambda instant: offsets.timestamp_incrementing(instant, begin.id), lambda settled: settled)
    head = offsets.timestamp_incrementing(us(at(50)), 9)
    held = marks.next(None, head, seen(60, 40))
    assert held == offsets.timestamp_incrementing(us(at(40)), -1)
    assert marks.next(held, head, seen(61, 60)) == head
    assert marks.next(head, head, seen(62, 30)) == head


def test_the_mark_of_ids_waits_for_what_was_open_when_they_had_been_delivered():
    marks = IdMarks()
    one, two = offsets.incrementing(5), offsets.incrementing(9)
    assert marks.next(None, one, seen(10, 5)) is None
    assert marks.next(None, two, seen(20, 9)) is None
    assert marks.next(None, two, seen(30, 20)) is None
    assert marks.next(None, two, seen(31, 21)) == one


@pytest.mark.parametrize(("settled", "free"), [(9.0, None), (10.5, 5)])
def test_ids_are_held_until_what_was_open_when_they_were_seen_has_ended(settled: float, free: int | None):
    column: sa.ColumnElement[Any] = sa.column("id", sa.BigInteger)
    moments = iter([seen(10, 8), seen(11, settled)])

    class Watch:
        def observe(self, _database: object) -> Observation:
            return next(moments)

    held = HeldIds(lambda _database: 5, column, Watch())
    assert str(held.begin(Answers())[0]) == "1 = 0"
    assert held.is_waiting
    (condition,) = held.begin(Answers())
    assert condition.compile().params == ({} if free is None else {"param_1": free})


def test_ids_do_not_wait_for_a_clock_that_went_back_to_catch_up():
    column: sa.ColumnElement[Any] = sa.column("id", sa.BigInteger)
    moments = iter([seen(100, 99), seen(50, 49), seen(51, 50), seen(52, 51)])

    class Watch:
        def observe(self, _database: object) -> Observation:
            return next(moments)

    held = HeldIds(lambda _database: 5, column, Watch())
    assert [str(held.begin(Answers())[0]) for _ in range(3)] == ["1 = 0"] * 3
    (condition,) = held.begin(Answers())
    assert condition.compile().params == {"param_1": 5}
    marks, one = IdMarks(), offsets.incrementing(5)
    assert marks.next(None, one, seen(100, 99)) is None
    assert marks.next(None, one, seen(101, 99)) is None
    assert marks.next(None, one, seen(50, 49)) is None
    assert marks.next(None, one, seen(52, 51)) == one


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

    def finished(self) -> offsets.Offset | None:
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
    passes = SnapshotPasses(mode, sa.column("xmin"), Watch(), marks, None, lineages=Servers(ONE))
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
    assert offsets.mark_of(passes.finished()) == offsets.timestamp_incrementing(us(at(2)), 2)


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
    passes = SnapshotPasses(mode, sa.column("xmin"), Watch(), IdMarks(), place, lineages=Servers(ONE))
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
    passes = SnapshotPasses(Rows, sa.column("xmin"), Watch(), marks, place, lineages=Servers(now, first=first))
    conditions = passes.begin(Answers([(30, 30, [])], ("30:30:", False)))
    assert len(conditions) == (1 if kept is None else 2)
    if kept is not None:
        literals = {"compile_kwargs": {"literal_binds": True}, "dialect": postgresql.dialect()}
        assert f"'{kept}'" in str(conditions[1].compile(**literals))
    passes.delivered(Page(pa.array([{"a": 1}]), (), ()))
    assert offsets.safe_server_of(passes.delivered(Page(pa.array([{"a": 1}]), (), None))) == now.text


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
