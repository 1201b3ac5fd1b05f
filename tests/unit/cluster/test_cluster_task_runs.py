"""A worker plans the runs of its own tasks; what the cluster's other tasks look like costs it nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from cluster_fakes import MemoryTopic

from connect.cluster.herder.task_runs import TaskRuns
from connect.cluster.loop.membership import NOBODY
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.statuses import Status
from connect.cluster.store.status_store import StatusStore
from connect.lib.deadline import Deadline
from connect.runtime.task.messages import AsksToWrite
from connect.runtime.task.task_id import TaskId

OTHERS = 100
HERE = replace(NOBODY, slots=frozenset({0}))


def snapshot_of(names, slot_of, **more):
    tasks = {name: {0: {}, 1: {}} for name in names}
    placements = {TaskId(name, number): slot_of(name) for name in names for number in (0, 1)}
    configs = {name: {"connector.class": "c"} for name in names}
    return ConfigSnapshot(connectors=configs, applied=configs, tasks=tasks, placements=placements, **more)


class Worker:
    """Task runs whose hosts and store are in memory, over a cluster of one connector here and many elsewhere."""

    def __init__(self):
        names = ["own", *(f"other-{number}" for number in range(OTHERS))]
        self.snapshot = snapshot_of(names, lambda name: 0 if name == "own" else 1)
        self.started, self.answers = [], []
        self.asked = 0
        statuses = StatusStore(MemoryTopic().log)
        statuses.start(Deadline.after(1))
        parts = SimpleNamespace(
            configs=SimpleNamespace(refresh=lambda: self.snapshot),
            catalog=SimpleNamespace(kind=self._kind),
            membership=SimpleNamespace(view=HERE),
            supervisor=SimpleNamespace(
                stop=lambda task, run, timeout_s: None,
                start=lambda message, isolated: self.started.append(message),
                let_write=lambda asking, refusal: self.answers.append(refusal),
            ),
            statuses=statuses,
            worker_id="me:1",
            status=lambda state, *_: Status(state, "me:1", None, 1),
            limits=SimpleNamespace(stop_s=1.0),
            awaits_fencing=lambda snapshot, name: False,
            publication=lambda snapshot, name: snapshot.published.get(name, 0),
        )
        self.runs = TaskRuns(parts, tracks_topics=False)

    def _kind(self, config):
        self.asked += 1
        return "source"

    def asked_in(self, call):
        """Return of how many tasks a call works out how they should run."""
        before = self.asked
        call()
        return self.asked - before


def test_a_look_works_out_the_tasks_of_this_worker_alone():
    worker = Worker()
    assert worker.asked_in(lambda: worker.runs.reconcile(worker.snapshot, HERE)) == 2
    assert [(started.connector, started.task) for started in worker.started] == [("own", 0), ("own", 1)]
    assert worker.asked_in(lambda: worker.runs.reconcile(worker.snapshot, HERE)) == 2


def test_a_run_that_asks_to_write_costs_a_look_at_its_own_task():
    worker = Worker()
    worker.runs.reconcile(worker.snapshot, HERE)
    asks = AsksToWrite("own", 0, worker.started[0].run)
    assert worker.asked_in(lambda: worker.runs.asks_to_write(asks)) == 1
    worker.snapshot = replace(worker.snapshot, applied={**worker.snapshot.applied, "own": {"connector.class": "d"}})
    worker.runs.asks_to_write(asks)
    assert worker.answers == [None, "the connector has another configuration now."]


def test_a_worker_without_a_group_runs_all_tasks():
    worker = Worker()
    worker.runs.reconcile(replace(worker.snapshot, placements={}), replace(NOBODY, slots=None))
    assert len(worker.started) == 2 * (OTHERS + 1)


def test_tasks_that_leave_and_come_back_keep_their_number_of_restarts():
    worker = Worker()
    worker.runs.reconcile(worker.snapshot, HERE)
    worker.runs.restart([TaskId("own", 0)])
    worker.runs.reconcile(worker.snapshot, replace(NOBODY, slots=frozenset()))
    worker.runs.reconcile(worker.snapshot, HERE)
    assert worker.runs.restarts()["own-0"] == 1
    worker.runs.reconcile(ConfigSnapshot(), HERE)
    assert worker.runs.restarts() == {}
