"""Kills of the task and a pause of the broker: when they come, that each is told, and how they read."""

from __future__ import annotations

import pytest

from connect.evaluate.faults import KILL, PAUSE, PAUSE_S, Struck, in_words, places_of, plan_faults, table_of
from connect.evaluate.options import Options


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


@pytest.mark.parametrize("seed", range(20))
def test_faults_are_one_in_each_part_of_the_run_and_none_is_near_its_end(seed):
    places = places_of(1000, 3, seed)
    assert [place // 300 for place in places] == [0, 1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_the_broker_pauses_once_among_the_kills_and_nothing_comes_before_the_first_row(seed):
    faults = plan_faults(FakeSandbox(), 1000, Options(crashes=3, seed=seed), least=1)
    assert sorted(fault.kind for fault in faults.planned) == [KILL, KILL, KILL, PAUSE]
    assert [fault.at for fault in faults.planned] == sorted(fault.at for fault in faults.planned)
    assert plan_faults(FakeSandbox(), 1, Options(crashes=1, seed=seed), least=1).planned[0].at >= 1


def test_each_fault_is_told_and_one_that_hits_nothing_is_tried_again():
    sandbox = FakeSandbox()
    faults = plan_faults(sandbox, 100, Options(crashes=2, seed=1))
    for place in range(200):
        faults.look(place)
    assert faults.planned == []
    assert (sandbox.asked, sandbox.paused_s) == (3, [PAUSE_S])
    assert in_words(faults.done) == "2 kills of the task and 1 pause of the broker"
    table = table_of(faults.done, "rows in Kafka")
    assert [row[1] for row in table.rows] == [struck.kind for struck in faults.done]
    assert {row[4] for row in table.rows} == {"kill -9 of 2 task hosts", "no answer for 3 s"}


def test_the_words_name_what_there_was_alone():
    assert in_words([Struck(KILL, 1, 1, "")]) == "1 kill of the task"
    assert in_words([Struck(PAUSE, 1, 1, "")] * 2) == "2 pauses of the broker"
