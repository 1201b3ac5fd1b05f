"""Kills of the task and a pause of the broker: they come while rows are under way, each is told, and how they read."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from connect.poc.sandbox.faults import KILL, LIFE_S, PAUSE, PAUSE_S, Fault, Faults, in_words, plan_faults, table_of
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.run_rows import SinkRunRows, SourceRunRows, rows_put


class FakeSandbox:
    """Has task hosts from the second question on."""

    def __init__(self) -> None:
        self.asked, self.paused_s = 0, []

    def kill_task_hosts(self) -> int:
        self.asked += 1
        return 2 if self.asked > 1 else 0

    def pause_broker(self, pause_s: float) -> bool:
        self.paused_s.append(pause_s)
        return True


@dataclass
class FakeRunRows:
    """A run with so many rows under way. `hits`: what each kill takes from it; then nothing."""

    hits: list[int]
    waiting: int = 5
    rows: int = 100

    def under_way(self) -> int:
        return self.waiting

    def killed(self) -> int:
        return self.hits.pop(0) if self.hits else 0


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


def struck_when(faults: Faults, clock: Clock, run_rows: FakeRunRows, until_s: int = 60) -> list[int]:
    """The seconds at which faults were done, looking once a second; the last is that of a True."""
    times = []
    for now_s in range(until_s):
        clock.now_s, before = float(now_s), len(faults.done)
        is_over = faults.look(run_rows)
        if len(faults.done) > before:
            times.append(now_s)
        assert is_over == (len(faults.done) > before and not faults.planned)
    return times


def kill(wait_s: float) -> Fault:
    return Fault(wait_s, KILL, lambda: "killed")


@pytest.mark.parametrize("seed", range(20))
def test_the_broker_pauses_once_among_the_kills_and_rows_last_longer_than_all_of_them(seed):
    faults = plan_faults(FakeSandbox(), 9600, 2, Options(crashes=3, seed=seed))
    assert sorted(fault.kind for fault in faults.planned) == [KILL, KILL, KILL, PAUSE]
    assert all(0 <= fault.wait_s <= LIFE_S for fault in faults.planned)
    assert 9600 / (2 * faults.rows_per_second) > 3 * sum(fault.wait_s for fault in faults.planned)


def test_each_fault_waits_until_rows_move_again_however_long_that_takes():
    clock, run_rows = Clock(), FakeRunRows([1, 1], waiting=0)
    faults = Faults([kill(2.0), kill(3.0)], clock_s=clock)
    assert struck_when(faults, clock, run_rows) == []
    run_rows.waiting = 1
    assert struck_when(faults, clock, run_rows) == [2, 6], "the second waits for the tasks of after the first"
    assert struck_when(faults, clock, run_rows) == []


def test_a_kill_that_hit_nothing_is_told_and_made_once_more():
    clock = Clock()
    faults = Faults([kill(1.0)], clock_s=clock)
    assert struck_when(faults, clock, FakeRunRows([0, 0, 7])) == [1, 3, 5]
    assert [struck.under_way for struck in faults.done] == [0, 0, 7]
    assert in_words(faults) == "1 kill of the task"


def test_each_fault_is_told_and_one_that_finds_nothing_to_strike_is_tried_again():
    sandbox = FakeSandbox()
    faults = plan_faults(sandbox, 100, 1, Options(crashes=2, seed=1))
    faults.clock_s = Clock()
    struck_when(faults, faults.clock_s, FakeRunRows([3, 4]))
    assert faults.planned == []
    assert (sandbox.asked, sandbox.paused_s) == (3, [PAUSE_S])
    assert in_words(faults) == "2 kills of the task and 1 pause of the broker"
    table = table_of(faults, "rows in Kafka", "of them new")
    assert [row[1] for row in table.rows] == [struck.kind for struck in faults.done]
    assert {row[5] for row in table.rows} == {"kill -9 of 2 task hosts", "no answer for 3 s"}


def test_the_words_say_what_was_not_done():
    clock = Clock()
    faults = Faults([kill(0.0), kill(LIFE_S)], clock_s=clock)
    assert in_words(faults) == ""
    faults.look(FakeRunRows([1]))
    assert in_words(faults) == "1 kill of the task (1 more found no rows under way in time)"


def test_what_a_sink_has_put_and_not_committed_is_under_way():
    run_rows = SinkRunRows(lambda: 30)
    run_rows.saw(committed=0, put=0)
    assert run_rows.under_way() == 0
    run_rows.saw(committed=20, put=50)
    assert run_rows.under_way() == 30
    assert run_rows.killed() == 20, "as ten more were committed before the kill"


def test_figures_of_a_killed_sink_are_not_taken_for_those_of_the_next_one():
    run_rows = SinkRunRows(lambda: 20)
    run_rows.saw(committed=20, put=50)
    run_rows.killed()
    run_rows.saw(committed=20, put=50)
    assert run_rows.under_way() == 0, "the dead task's"
    run_rows.saw(committed=20, put=0)
    run_rows.saw(committed=20, put=5)
    assert run_rows.under_way() == 5
    run_rows.killed()
    run_rows.saw(committed=24, put=7)
    assert run_rows.under_way() == 3, "it commits, so the figures are its own"


def test_a_sink_that_began_anew_by_itself_is_counted_from_what_it_had_committed():
    run_rows = SinkRunRows(lambda: 0)
    run_rows.saw(committed=20, put=50)
    run_rows.saw(committed=30, put=8)
    assert run_rows.under_way() == 0, "of the 30 it may have committed some itself"
    run_rows.saw(committed=30, put=18)
    assert run_rows.under_way() == 8


def test_rows_that_were_read_and_wait_for_a_transform_are_not_put():
    assert rows_put({"polled_rows_total": 100, "rows_total": 80}, read_at_once=20) == 80
    assert rows_put({"polled_rows_total": 100, "rows_total": 10}, read_at_once=20) == 80, "a transform drops rows"
    assert rows_put({"polled_rows_total": 1, "rows_total": 1}, read_at_once=20) == 1
    assert rows_put({}, read_at_once=20) == 0


def test_rows_of_a_source_are_under_way_from_when_its_tasks_began():
    present = iter([40])
    run_rows = SourceRunRows(lambda: next(present))
    run_rows.saw(30)
    assert run_rows.under_way() == 30
    assert run_rows.killed() == 30
    assert run_rows.under_way() == 0, "ten more came before the kill was looked at"
    run_rows.saw(41)
    assert run_rows.under_way() == 1
