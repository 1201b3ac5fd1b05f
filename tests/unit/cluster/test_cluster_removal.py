"""Checks `DELETE ?reset_offsets=true`: stopped, forgotten, gone; and what a dry run asks."""

import pytest
from cluster_fakes import eventually

from connect.api.records import TopicPartition
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.runtime.task.messages import CallResult, StopTask

SOURCE = {"connector.class": "Source", "name": "c", "tasks.max": "2"}
SINK = {"connector.class": "Sink", "name": "c"}
OFFSET = (b'["c",{"file":"a"}]', b'{"position":42}')


def run(herder, config):
    herder.connectors.create("c", config, None).result(60)
    eventually(lambda: herder.connectors.info("c").tasks)


def stops(world):
    return [m for h in world.hosts for m in h.heard if isinstance(m, StopTask)]


def test_a_running_source_is_stopped_before_its_offsets_go_and_then_removed(world, herder):
    run(herder, SOURCE)
    eventually(lambda: len(world.started()) == 2)
    world.offsets.append(*OFFSET)
    stopped_before = []

    def alter(call):
        stopped_before.append(len(stops(world)))
        return CallResult(call.id, [True, []])

    world.alter_offsets = alter
    herder.connectors.delete_with_offsets("c").result(60)
    assert stopped_before == [2]
    assert world.offsets.records[-1] == (OFFSET[0], None)
    assert herder.connectors.names() == []


def test_a_sink_whose_group_has_members_waits_for_them_to_leave(world, herder):
    run(herder, SINK)
    world.groups.committed["connect-c"] = {TopicPartition("t", 0): 5}
    world.groups.busy = True
    removal = herder.connectors.delete_with_offsets("c")
    eventually(lambda: herder.connectors.status("c").connector.state.value == "STOPPED")
    assert not removal.done()
    world.groups.busy = False
    removal.result(60)
    assert (herder.connectors.names(), world.groups.committed) == ([], {})


def test_a_connector_that_refuses_is_stopped_but_stays(world, herder):
    run(herder, SOURCE)
    world.offsets.append(*OFFSET)
    world.alter_offsets = lambda call: CallResult(call.id, error="not these")
    with pytest.raises(RequestError, match=r"stopped but not deleted.*not these"):
        herder.connectors.delete_with_offsets("c").result(60)
    assert herder.connectors.names() == ["c"]
    assert world.offsets.records == [OFFSET]


def test_an_unknown_connector_is_not_found(herder):
    with pytest.raises(NotFoundError, match="Connector x not found"):
        herder.connectors.delete_with_offsets("x").result(60)


def test_a_plan_shows_tasks_and_missing_topics_and_stores_nothing(world, herder):
    world.groups.there = {"there": 1}
    world.plan_tasks = lambda config: [{"part": "0", "password": "resolved"}]
    config = {**SOURCE, "topics": "there, new", "password": "${file:x:y}"}
    plan = herder.trials.plan("c", config, 5, "me").result(60)
    assert plan.tasks == [{"part": "0", "password": "${file:x:y}"}]
    assert plan.new_topics == ["new"]
    assert herder.connectors.names() == []


def test_a_plan_that_fails_says_why(world, herder):
    world.plan_tasks = lambda config: [{}] * 3
    with pytest.raises(RequestError, match="generated 3 tasks, which is greater than 2"):
        herder.trials.plan("c", SOURCE, 5, "me").result(60)
    world.plan_tasks = lambda config: CallResult(world.calls[-1].id, error="no tables")
    with pytest.raises(RequestError, match="no tables"):
        herder.trials.plan("c", SOURCE, 5, "me").result(60)


def test_a_stopped_connector_goes_at_once(world, herder):
    herder.connectors.create("c", SOURCE, TargetState.STOPPED).result(60)
    world.offsets.append(*OFFSET)
    herder.connectors.delete_with_offsets("c").result(60)
    assert world.started() == []
    assert world.offsets.records[-1] == (OFFSET[0], None)
