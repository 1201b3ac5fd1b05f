"""An answer to the question for tasks is not used where the connector was changed meanwhile."""

import pytest
from cluster_fakes import eventually
from cluster_herders import SOURCE, create, is_running, states

from connect.cluster.model.connector_values import TargetState
from connect.runtime.task.messages import CallResult


def looked(world):
    return sum(call.method == "task_configs" for call in world.calls)


@pytest.mark.parametrize("target", [None, TargetState.STOPPED])
def test_an_answer_about_what_was_changed_meanwhile_is_not_published(world, herder, target):
    create(herder)
    eventually(is_running(herder))
    runs, parts = herder._reconciler.connectors, herder._parts

    def answer_after_a_change():
        run = runs._runs["s"]
        if target is None:
            parts.configs.put_connector("s", {**SOURCE, "tasks.max": "1"})
        else:
            parts.configs.put_target("s", target)
        runs._answered("s", run, CallResult(0, [{"tables": "old"}]))

    parts.loop.submit("answering late", answer_after_a_change).result(60)
    eventually(is_running(herder, tasks=1) if target is None else lambda: states(herder) == ("STOPPED", []))
    assert not any(b'"old"' in (value or b"") for _, value in world.configs.records)


@pytest.mark.parametrize("changed", [{"x": "1"}, None])
def test_a_connector_that_is_changed_back_is_asked_again_for_the_answer_that_was_not_used(world, herder, changed):
    create(herder)
    eventually(is_running(herder))
    runs, parts = herder._reconciler.connectors, herder._parts
    before = looked(world)

    def change(there):
        if changed is None:
            parts.configs.put_target("s", TargetState.PAUSED if there else TargetState.STARTED)
        else:
            parts.configs.put_connector("s", {**SOURCE, **changed} if there else SOURCE)

    def answer_between_two_changes():
        run = runs._runs["s"]
        change(True)
        runs._answered("s", run, CallResult(0, [{"tables": "old"}]))
        change(False)

    parts.loop.submit("answering late", answer_between_two_changes).result(60)
    eventually(lambda: looked(world) > before)
    eventually(is_running(herder))
