"""Tests claims that come late or of two workers with one address, and workers of which some alone run exactly once."""

from dataclasses import replace

import pytest
from cluster_fakes import eventually
from dealt_cluster import SLOTS, create, workers

from connect.api.errors import RetriableError
from connect.cluster.herder import task_statuses
from connect.cluster.model import status_records
from connect.cluster.model.config_records import (
    CommitRecord,
    ConnectorRecord,
    TargetRecord,
    TaskRecord,
    WorkerRecord,
    decode,
    encode,
)
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import NotLeaderError
from connect.runtime.task.messages import CallResult, StopTask
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


@pytest.mark.parametrize("have_stopped", [True, False], ids=["stopped", "still stopping"])
def test_each_worker_keeps_telling_of_its_tasks_that_the_leader_cannot_fence_others_for(
    cluster, pair, monkeypatch, have_stopped
):
    """Runs of the former configuration may take long to stop, and say nothing of the ones that wait."""
    monkeypatch.setattr(task_statuses, "SAY_AGAIN_S", 0.0)  # as of runs that began long ago
    first, second = pair
    config = {"connector.class": "Source", "tasks.max": "4", "exactly.once.support": "required"}
    first.connectors.create("c", config, None).result(60)
    eventually(lambda: workers(first) == ["a:1", "a:1", "b:1", "b:1"])

    def refuse(call):
        return CallResult(call.id, error="not authorized")

    cluster.world.fence = (lambda call: None) if have_stopped else refuse
    cluster.world.silent_on |= set() if have_stopped else {StopTask}
    before = len(cluster.world.statuses.records)
    first.connectors.save("c", {**config, "topic": "other"}).result(60)
    if have_stopped:
        eventually(lambda: states(first, State.RESTARTING) == ["a:1", "a:1", "b:1", "b:1"])
        eventually(lambda: cluster.world.calls[-1].method == "fence")
        cluster.world.fence, call = refuse, cluster.world.calls[-1]
        next(host for host in cluster.world.hosts if call in host.heard).say(refuse(call))

    def failed():
        told = first.connectors.status("c").tasks.values()
        return sorted(t.worker_id for t in told if t.state is State.FAILED and "not authorized" in t.trace)

    eventually(lambda: failed() == ["a:1", "a:1", "b:1", "b:1"])
    for step in (lambda: None, cluster.world.let_stop):
        step()
        for herder in (first, second) * 3:
            herder.worker.ping().result(60)  # it reconciles after each step
        assert failed() == ["a:1", "a:1", "b:1", "b:1"]
    assert not said_after_failed(cluster.world.statuses.records[before:])
    cluster.world.fence = lambda call: CallResult(call.id)
    first.connectors.restart("c", include_tasks=True, only_failed=False).result(60)
    eventually(lambda: workers(first) == ["a:1", "a:1", "b:1", "b:1"])


def said_after_failed(records):
    """Return what was told of tasks after they were told as failed."""
    failed, said = set(), []
    for key, value in records:
        record = status_records.decode(key, value)
        if isinstance(record, status_records.TaskStatusRecord):
            if record.status.state is State.FAILED:
                failed.add(record.task)
            elif record.task in failed:
                said.append((str(record.task), record.status.state.value))
    return said


@pytest.mark.parametrize("support", ["preparing", "disabled"])
def test_sources_run_on_workers_that_write_in_transactions_before_their_leader_does(cluster, support):
    """It is the middle of a rolling upgrade, which may last."""
    first = cluster.start("a", **{"exactly.once.source.support": support})
    second = cluster.start("b", **{"exactly.once.source.support": "enabled"})
    cluster.deal("a", "assigned", {0, 1, 2})
    cluster.deal("b", "assigned", {3, 4, 5})
    eventually(lambda: len(first.worker.view.owners) == len(second.worker.view.owners) == SLOTS)
    create(first)
    eventually(lambda: workers(first) == ["a:1", "a:1", "b:1", "b:1"])
    cluster.world.fence = lambda call: CallResult(call.id, error="not authorized")
    first.connectors.save("c", {"connector.class": "Source", "tasks.max": "4", "topic": "other"}).result(60)
    eventually(lambda: states(first, State.FAILED) == ["b:1", "b:1"])
    eventually(lambda: workers(first) == ["a:1", "a:1"])  # it has no producers that anybody could shut out


def states(herder, state):
    return sorted(task.worker_id for task in herder.connectors.status("c").tasks.values() if task.state is state)


def test_no_slot_stays_without_owner_after_a_claim_that_came_late(cluster, pair):
    """The group never took slot 0 from the first worker, so it does not assign the slot to it again by itself."""
    first, second = pair
    create(first)
    eventually(lambda: workers(second) == ["a:1", "a:1", "b:1", "b:1"])
    before, claim = cluster.members["a"], decode(*cluster.world.configs.last("worker-b:1"))
    for slots in ((0, 3, 4, 5), (3, 4, 5)):  # the first one had waited in a worker that was cut off
        cluster.world.configs.append(*encode(replace(claim, slots=slots)))
    assert first.worker.view.slots == {1, 2}
    eventually(lambda: before.left and cluster.members["a"] is not before)
    cluster.deal("a", "assigned", {0, 1, 2})
    eventually(lambda: len(first.worker.view.owners) == len(second.worker.view.owners) == SLOTS)
    first.worker.require_leader()
    eventually(lambda: workers(second) == ["a:1", "a:1", "b:1", "b:1"])


def test_a_claim_that_came_before_its_writer_had_read_back_its_own_is_heeded(cluster):
    """It is in the log behind the worker's own claim, and both are read in one go."""
    first, topic = cluster.start("a"), cluster.world.configs
    log = topic.append

    def append(key, value):
        log(key, value)
        if key == b"worker-a:1":
            topic.append = log
            log(*encode(WorkerRecord("b:1", "http://b:1", (0, 1))))

    topic.append = append
    before = cluster.members["a"]
    cluster.deal("a", "assigned", {0, 1, 2})
    eventually(lambda: before.left and cluster.members["a"] is not before)
    cluster.deal("a", "assigned", {0, 1, 2})
    eventually(lambda: first.worker.view.slots == {0, 1, 2})
    assert first.worker.view.owners == dict.fromkeys(range(3), "a:1")


def test_of_two_workers_with_one_address_the_later_one_leaves_and_says_why(cluster):
    """Each would replace the other's claim, and the cluster would have no leader for ever."""
    first, second = cluster.start("a"), cluster.start("b", "a:1")
    cluster.deal("a", "assigned", {0, 1, 2})
    eventually(lambda: first.worker.view.leads)
    create(first)
    eventually(lambda: workers(first) == ["a:1"] * 4)
    started = len(cluster.world.started())
    stays, leaves = cluster.members["a"], cluster.members["b"]
    cluster.deal("b", "assigned", {3, 4, 5})
    eventually(lambda: leaves.left)
    assert "rest.advertised.host.name" in second.worker.kafka_trouble
    assert not second.worker.is_ready
    cluster.deal("a", "assigned", {3, 4, 5})
    eventually(lambda: first.worker.view.owners == second.worker.view.owners == dict.fromkeys(range(SLOTS), "a:1"))
    first.worker.require_leader()
    assert not stays.left
    assert len(cluster.world.started()) == started


def test_a_worker_that_was_frozen_carries_out_nothing_by_what_it_knew_before(cluster, pair):
    """A request that lay in its socket meanwhile may be older than those that the next leader has carried out."""
    first, second = pair
    create(first)
    eventually(lambda: workers(second) == ["a:1", "a:1", "b:1", "b:1"])
    cluster.leases["a"].revoke()
    assert first.worker.view.leads
    before = list(cluster.world.configs.records)
    for asking in (
        first.connectors.delete("c"),
        first.connectors.set_target("c", TargetState.PAUSED),
        first.connectors.save("c", {"connector.class": "Source"}),
    ):
        with pytest.raises(NotLeaderError) as refused:
            asking.result(60)
        assert refused.value.leader_url is None
    another = [TaskRecord(TaskId("d", 0), {}), CommitRecord("d", 1)]
    for record in (ConnectorRecord("d", {"connector.class": "Source"}), *another):
        cluster.world.configs.append(*encode(record))
    first.worker.ping().result(60)
    first.worker.ping().result(60)  # it has reconciled by then
    assert len(cluster.world.configs.records) == len(before) + 3
    cluster.deal("a", "assigned", set())
    eventually(lambda: cluster.world.configs.keys().count("placement-d"))


def test_a_leader_that_cannot_write_looks_after_its_own_tasks(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: workers(second) == ["a:1", "a:1", "b:1", "b:1"])
    cluster.world.configs.refusal = lambda records: RetriableError("The topic has too few replicas.")
    task = TaskRecord(TaskId("d", 0), {})
    another = [ConnectorRecord("d", {"connector.class": "Source"}), task, CommitRecord("d", 1)]
    for record in (*another, TargetRecord("c", TargetState.PAUSED)):  # the task needs a place, which cannot be written
        cluster.world.configs.append(*encode(record))
    eventually(lambda: states(second, State.PAUSED) == ["a:1", "a:1", "b:1", "b:1"])
    cluster.world.configs.refusal = lambda records: None
    eventually(lambda: cluster.world.configs.keys().count("placement-d"))
