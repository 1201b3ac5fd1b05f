"""Checks the settled time, and the marks behind which nothing can appear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa

from connect.api.errors import ConnectError
from connectors.jdbc.dialects.mysql.settled import MariaDbSettledTime
from connectors.jdbc.dialects.postgres.settled import PostgresSettledTime
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.late_commits import HeldIds, IdMarks, TimestampMarks
from connectors.jdbc.follow.modes import Begin
from connectors.jdbc.settled.settled_time import Observation
from tests.unit.jdbc.jdbc_answers import HOUR_US, SECOND_US, START, Answers, at, seen, us


def postgres(now_s: float, *open_: tuple[str, float | None]) -> Answers:
    work = [(None, name, None if started is None else at(started), None) for name, started in open_]
    return Answers([(at(now_s), None, None, None), *work])


def settled_s(observation: Observation) -> float:
    return (observation.settled_us - us(START)) / SECOND_US


def test_the_oldest_open_transaction_holds_the_settled_time():
    settled_time = PostgresSettledTime(SECOND_US, HOUR_US)
    assert settled_s(settled_time.observe(postgres(100.0, ("3/1", 90.0), ("4/7", 70.0)))) == 69.0
    assert settled_s(settled_time.observe(postgres(101.0, ("3/1", 90.0)))) == 89.0
    assert settled_s(settled_time.observe(postgres(102.0))) == 101.0


def test_a_clock_that_goes_back_by_more_than_the_settle_time_is_told_once(caplog: pytest.LogCaptureFixture):
    settled_time = PostgresSettledTime(5 * SECOND_US, HOUR_US)
    for now_s in (100.0, 96.0, 90.0, 89.0, 99.0, 101.0):
        settled_time.observe(postgres(now_s))
    (record,) = caplog.records
    assert "clock went back by 10.0 s" in record.getMessage()
    assert "settle.time.ms" in record.getMessage()
    settled_time.observe(postgres(50.0))
    assert len(caplog.records) == 2


def test_what_was_open_when_the_clock_went_back_holds_the_settled_time_until_it_ends():
    settled_time = PostgresSettledTime(0, HOUR_US)
    assert settled_s(settled_time.observe(postgres(100.0, ("3/1", 99.0)))) == 99.0
    assert settled_s(settled_time.observe(postgres(50.0, ("3/1", 99.0)))) == 50.0
    assert settled_s(settled_time.observe(postgres(55.0, ("3/1", 99.0)))) == 50.0
    assert settled_s(settled_time.observe(postgres(60.0))) == 60.0


def test_without_the_right_to_see_it_a_start_is_after_the_look_that_did_not_have_it():
    settled_time = PostgresSettledTime(0, HOUR_US)
    assert settled_s(settled_time.observe(postgres(100.0, ("3/1", None)))) == 100.0 - 3600.0
    assert settled_s(settled_time.observe(postgres(101.0, ("3/2", None)))) == 100.0
    assert settled_s(settled_time.observe(postgres(105.0, ("3/2", None), ("5/1", None)))) == 100.0
    assert settled_s(settled_time.observe(postgres(106.0, ("5/1", None)))) == 101.0


def test_a_transaction_that_is_prepared_under_a_new_name_holds_the_settled_time_where_it_was():
    settled_time = PostgresSettledTime(0, HOUR_US)
    settled_time.observe(postgres(100.0, ("3/1", 60.0)))
    assert settled_s(settled_time.observe(postgres(110.0, ("prepared transaction a", None)))) == 60.0


def test_a_forgotten_transaction_is_left_behind_and_named(caplog: pytest.LogCaptureFixture):
    settled_time = PostgresSettledTime(0, 100 * SECOND_US)
    assert settled_s(settled_time.observe(postgres(500.0, ("Transaction 3/1 of process 42", 10.0)))) == 400.0
    assert "safe.horizon.max.ms is over for Transaction 3/1 of process 42" in caplog.text


def writes(*rows: tuple[int, datetime]) -> Callable[[str], Sequence[Any]]:
    """InnoDB's transactions by their connection, as a copy that was made for the statement that asks."""
    return lambda asked: [*((thread, began, 77, 1, None) for thread, began in rows), (1, START, 0, 0, asked)]


def test_a_mariadb_statement_that_waited_before_its_transaction_holds_the_settled_time():
    settled_time = MariaDbSettledTime(0, HOUR_US)
    waits = Answers(at(100.0), [(7, 8_000, 0)], writes(), [])
    assert settled_s(settled_time.observe(waits)) == 92.0
    now_open = Answers(at(101.0), [], writes((7, at(100.0))))
    assert settled_s(settled_time.observe(now_open)) == 92.0
    assert settled_s(settled_time.observe(Answers(at(102.0), [], writes((7, at(101.0)))))) == 101.0


def test_a_replicas_settled_time_is_a_minute_behind_what_it_has_of_its_primary():
    behind = Answers([(at(100.0), None, None, at(95.0))])
    assert settled_s(PostgresSettledTime(SECOND_US, HOUR_US).observe(behind)) == 34.0
    status = [{"Seconds_Behind_Master": 10}]
    applies = Answers(at(100.0), [(4, 3_600_000, 1)], writes((9, at(98.0))), status)
    assert settled_s(MariaDbSettledTime(SECOND_US, HOUR_US).observe(applies)) == 28.0


def test_a_transaction_that_is_open_on_the_primary_holds_the_settled_time_of_a_standby():
    settled_time, open_ = PostgresSettledTime(0, HOUR_US), ("Transaction 755 of the primary", None)
    for now_s, work, settled in (
        (200.0, (), 140.0),
        (210.0, (open_,), 140.0),
        (300.0, (open_,), 140.0),
        (301.0, (), 241.0),
    ):
        rows = [(at(now_s), None, None, at(now_s)), *((None, name, began, None) for name, began in work)]
        assert settled_s(settled_time.observe(Answers(rows))) == settled


def test_without_process_mariadb_rows_wait_for_a_settle_time_and_the_log_says_what_to_grant(caplog):
    settled_time = MariaDbSettledTime(SECOND_US, HOUR_US)
    answers = Answers(at(100.0), ConnectError("Access denied"), at(100.0), at(101.0))
    assert settled_s(settled_time.observe(answers)) == 90.0
    assert settled_s(settled_time.observe(answers)) == 91.0
    assert caplog.text.count("GRANT PROCESS ON *.*") == 1


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
