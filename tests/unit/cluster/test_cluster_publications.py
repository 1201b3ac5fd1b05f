"""Tasks that were published anew run anew, also where a worker has seen nothing between the two publications."""

from __future__ import annotations

import pytest
from cluster_fakes import eventually
from cluster_herders import create, is_running
from stepped_pair import CONFIG, Pair

from connect.cluster.leader.connector_runs import is_news
from connect.cluster.model.config_records import CommitRecord, ConnectorRecord, TaskRecord, encode
from connect.cluster.model.config_state import ConfigState
from connect.cluster.model.connector_values import TargetState
from connect.lib.deadline import Deadline
from connect.runtime.task.task_id import TaskId

OTHER = {**CONFIG, "other": "1"}


def stop_and_resume(pair):
    pair.target(TargetState.STOPPED)
    pair.target(TargetState.STARTED)


def change_and_change_back(pair):
    pair.save(OTHER)
    pair.save(CONFIG)


def delete_and_create(pair):
    pair.ask(lambda: pair.leader.requests.delete("c"))
    pair.ask(lambda: pair.leader.requests.create("c", CONFIG, None, "test"))


@pytest.mark.parametrize("change", [stop_and_resume, change_and_change_back, delete_and_create])
def test_a_worker_that_slept_through_a_change_runs_its_tasks_anew(change):
    pair = Pair()
    before = pair.runs()
    assert len(before) == 2
    change(pair)
    assert pair.runs() == before
    pair.settle()
    after = pair.runs()
    assert after.keys() == before.keys()
    assert all(after[task] > run for task, run in before.items())


def test_a_failed_task_is_started_again_by_a_stop_and_a_resume_that_its_worker_slept_through():
    pair = Pair(**{"auto.restart.enabled": "false"})
    (host,) = [
        host for host in pair.follower.live_hosts() if TaskId("c", min(t.task for t in pair.runs())) in host.runs
    ]
    failing = min(host.runs)
    host.fail(failing)
    pair.settle()
    assert failing not in pair.runs()
    stop_and_resume(pair)
    pair.settle()
    assert failing in pair.runs()


@pytest.mark.parametrize(("support", "kept"), [("enabled", 0), ("disabled", 1)])
def test_tasks_that_stay_the_same_run_on_unless_their_producers_are_shut_out(support, kept):
    pair = Pair(**{"exactly.once.source.support": support})
    before = pair.runs()
    tasks = [dict(task) for task in pair.leader.reconciler.parts.configs.snapshot.tasks["c"].values()]
    tasks[min(task.task for task in before)]["table"] = "another"
    pair.cluster.plan = lambda config: tasks
    pair.leader.request(lambda: pair.leader.reconciler.connectors.restart("c"))
    pair.settle()
    after = pair.runs()
    assert len([task for task, run in before.items() if after[task] == run]) == kept


def test_task_records_without_their_commit_get_one(world, start):
    first = start()
    create(first)
    eventually(is_running(first))
    first.stop(Deadline.after(60))
    written = dict(world.configs.records)
    for number in (0, 1):
        world.configs.append(b"task-s-%d" % number, written[b"task-s-%d" % number])
    again = start()
    eventually(lambda: world.configs.keys().count("commit-s") == 2)
    eventually(is_running(again))
    assert again._parts.configs.snapshot.pending == frozenset()


def added(*records):
    state = ConfigState()
    for offset, record in enumerate(records):
        state.advance(offset)
        state.apply(record)
    return state.snapshot()


FIRST = (ConnectorRecord("c", CONFIG), TaskRecord(TaskId("c", 0), {"a": "1"}), CommitRecord("c", 1))


@pytest.mark.parametrize(
    ("then", "published"),
    [
        ((TaskRecord(TaskId("c", 0), {"a": "2"}), CommitRecord("c", 1)), 2),
        ((ConnectorRecord("c", CONFIG), TaskRecord(TaskId("c", 0), {"a": "1"}), CommitRecord("c", 1)), 2),
        ((CommitRecord("c", 0), TaskRecord(TaskId("c", 0), {"a": "1"}), CommitRecord("c", 1)), 5),
        ((ConnectorRecord("c", OTHER), TaskRecord(TaskId("c", 0), {"a": "1"}), CommitRecord("c", 1)), 5),
        ((ConnectorRecord("c", OTHER), ConnectorRecord("c", CONFIG)), 2),
    ],
    ids=["other tasks", "written anew", "after a stop", "of another configuration", "not published yet"],
)
def test_what_begins_all_tasks_of_a_connector_anew(then, published):
    assert added(*FIRST, *then).published == {"c": published}


def test_tasks_that_were_not_committed_are_news():
    tasks = [{"a": "1"}]
    assert not is_news(added(*FIRST), "c", CONFIG, tasks)
    half = (*FIRST, ConnectorRecord("c", CONFIG), TaskRecord(TaskId("c", 0), {"a": "1"}))
    assert is_news(added(*half), "c", CONFIG, tasks)
    assert not is_news(added(*half, CommitRecord("c", 1)), "c", CONFIG, tasks)
    assert added(*half, TaskRecord(TaskId("c", 0), None)).pending == frozenset()
    assert added(*half, ConnectorRecord("c", None)).pending == frozenset()


@pytest.mark.parametrize("count", [4, 2])
def test_tasks_of_a_former_leader_that_come_late_are_planned_anew(count):
    """Its client had them on the way while it lost its place, and the next leader had taken another configuration."""
    pair = Pair()
    former = pair.leader.reconciler.parts.configs.snapshot.tasks["c"]
    pair.save(OTHER)
    pair.settle()
    for number in range(count):
        pair.cluster.configs.append(*encode(TaskRecord(TaskId("c", number), former[number])))
    pair.cluster.configs.append(*encode(CommitRecord("c", count)))
    for _ in range(3):
        pair.settle()
    snapshot = pair.leader.reconciler.parts.configs.snapshot
    assert [task.get("other") for task in snapshot.tasks["c"].values()] == ["1"] * 4
    written = len(pair.cluster.configs.records)
    pair.settle()
    assert len(pair.cluster.configs.records) == written


def test_tasks_with_a_null_are_published_once():
    pair = Pair()
    pair.cluster.plan = lambda config: [{"table": "a", "filter": None}]
    pair.save(OTHER)
    for _ in range(3):
        pair.settle()
    (task,) = pair.leader.reconciler.parts.configs.snapshot.tasks["c"].values()
    assert (task["table"], "filter" in task) == ("a", False)
    written = len(pair.cluster.configs.records)
    pair.settle()
    assert len(pair.cluster.configs.records) == written
