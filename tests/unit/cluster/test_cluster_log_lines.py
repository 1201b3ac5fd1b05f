"""What becomes of connectors and tasks is one line of the log each, at INFO, with the names it is about."""

from __future__ import annotations

from cluster_fakes import eventually
from cluster_herders import SOURCE, create, is_running
from structlog.testing import capture_logs

from connect.cluster.operations import TargetState


def test_each_change_of_a_connector_is_one_line_that_names_it(herder):
    with capture_logs() as lines:
        create(herder)
        eventually(is_running(herder))
        eventually(lambda: sum(line["event"] == "task_started" for line in lines) == 2)
        herder.save("s", SOURCE | {"further": "1"}, "me").result(5)
        eventually(is_running(herder))
        for target in (TargetState.PAUSED, TargetState.STARTED, TargetState.STOPPED):
            herder.set_target("s", target).result(5)
        herder.delete("s").result(5)
    told = [line for line in lines if line["event"].startswith("connector_")]
    assert [line["event"].removeprefix("connector_") for line in told] == [
        "created", "changed", "paused", "resumed", "stopped", "deleted",
    ]  # fmt: skip
    assert {(line["connector"], line["log_level"]) for line in told} == {("s", "info")}
    started = [line for line in lines if line["event"] == "task_started"]
    assert {(line["connector"], line["task"], line["log_level"]) for line in started} == {
        ("s", 0, "info"), ("s", 1, "info"),
    }  # fmt: skip
