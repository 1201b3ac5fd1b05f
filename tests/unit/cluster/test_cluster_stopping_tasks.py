"""A leader does not set offsets while another worker may still run tasks that it, or who led before it, told to end."""

from __future__ import annotations

import pytest
from stepped_pair import CONFIG, Pair

from connect.api.errors import RetriableError
from connect.cluster.loop import stopping_tasks
from connect.cluster.model.connector_values import TargetState

STOP_S = 0.5 + 2.0
"""This is `task.shutdown.graceful.timeout.ms` of the cluster, and the time for kills."""


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now_s = 1000.0

        def monotonic(self):
            return self.now_s

    clock = Clock()
    monkeypatch.setattr(stopping_tasks, "time", clock)
    return clock


def may_run(pair):
    return pair.leader.reconciler.parts.stopping.may_run("c")


def test_a_new_leader_waits_for_what_the_one_before_it_told_to_end(clock):
    pair = Pair()
    assert may_run(pair)
    clock.now_s += STOP_S
    assert not may_run(pair)


def test_a_worker_that_has_not_begun_to_lead_waits(clock):
    pair = Pair()
    clock.now_s += STOP_S
    pair.leader.reconciler.parts.stopping.follows()
    assert may_run(pair)


@pytest.mark.usefixtures("clock")
def test_a_worker_that_is_alone_waits_for_nobody(herder):
    assert not herder._parts.stopping.may_run("c")


def test_tasks_that_a_change_ended_are_waited_for(clock):
    pair = Pair()
    clock.now_s += STOP_S
    assert not may_run(pair)
    pair.save({**CONFIG, "tasks.max": "1"})
    pair.target(TargetState.STOPPED)
    assert may_run(pair)
    clock.now_s += STOP_S
    assert not may_run(pair)


@pytest.mark.parametrize("change", ["put_target", "remove_connector"])
def test_a_stop_whose_write_has_no_answer_is_waited_for_as_it_may_have_been_taken(clock, monkeypatch, change):
    def fail(*_):
        raise RetriableError("no answer")

    pair = Pair()
    clock.now_s += STOP_S
    monkeypatch.setattr(pair.leader.reconciler.parts.configs, change, fail)
    requests = pair.leader.requests
    asked = pair.leader.request(
        lambda: requests.set_target("c", TargetState.STOPPED) if change == "put_target" else requests.delete("c")
    )
    pair.settle(pair.leader)
    with pytest.raises(RetriableError, match="no answer"):
        asked.result(0)
    assert may_run(pair)
