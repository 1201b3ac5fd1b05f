"""Checks that each change of a connector or task is one line of the log, at INFO, with the names that it is about."""

from __future__ import annotations

from captured_logs import capture_logs
from cluster_fakes import eventually
from cluster_herders import SOURCE, create, is_running
from test_cluster_churn import Churn

from connect.cluster.model.connector_values import TargetState


def test_each_change_of_a_connector_is_one_line_that_names_it(herder):
    with capture_logs() as lines:
        create(herder)
        eventually(is_running(herder))
        eventually(lambda: sum(line["event"] == "task_started" for line in lines) == 2)
        herder.connectors.save("s", SOURCE | {"further": "1"}, "me").result(60)
        eventually(is_running(herder))
        for target in (TargetState.PAUSED, TargetState.STARTED, TargetState.STOPPED):
            herder.connectors.set_target("s", target).result(60)
        herder.connectors.delete("s").result(60)
    told = [line for line in lines if line["event"].startswith("connector_")]
    assert [line["event"].removeprefix("connector_") for line in told] == [
        "created", "changed", "paused", "resumed", "stopped", "deleted",
    ]  # fmt: skip
    assert {(line["connector"], line["log_level"]) for line in told} == {("s", "info")}
    started = [line for line in lines if line["event"] == "task_started"]
    assert {(line["connector"], line["task"], line["log_level"]) for line in started} == {
        ("s", 0, "info"), ("s", 1, "info"),
    }  # fmt: skip


def test_workers_that_come_and_go_moved_tasks_and_leadership_are_one_line_each():
    churn = Churn(0)
    first, second, third = churn.cluster.workers
    with capture_logs() as lines:
        one, others = frozenset({1}), first.membership.held - {1}
        for giving, taking, slots in ((first, third, one), (third, second, one), (first, second, others)):
            churn.hand_over(giving, taking, slots)
            churn.rest()
    told = {line["event"]: line for line in lines if line["log_level"] == "info"}
    assert told["worker_joined"]["worker"] == told["worker_lost"]["worker"] == "c:1"
    assert len(told["tasks_moving"]["tasks"]) == 1
    assert told["leadership_taken"]["workers"] == ["b:1"]
    events = [line["event"] for line in lines]
    assert [events.count(name) for name in ("worker_joined", "worker_lost", "leadership_lost", "leadership_taken")] == [
        1, 1, 1, 1,
    ]  # fmt: skip
