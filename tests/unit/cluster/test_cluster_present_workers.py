"""Checks what the leader's log says of workers that are gone."""

from captured_logs import capture_logs

from connect.cluster.leader.present_workers import PresentWorkers
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.statuses import Status
from connect.runtime.task.state import State

SNAPSHOT = ConfigSnapshot(tasks={"c": {0: {}, 1: {}, 2: {}}})


class Statuses:
    def __init__(self):
        self.known = {}

    def tasks(self, name):
        return self.known

    def say(self, number, worker, state=State.RUNNING):
        self.known[number] = Status(state, worker, None, 0)


def told(lines):
    return [{k: v for k, v in line.items() if k in {"event", "worker", "tasks", "took_s"}} for line in lines]


def test_a_lost_worker_is_told_with_its_tasks_and_when_they_run_elsewhere():
    now_s = [100.0]
    statuses = Statuses()
    workers = PresentWorkers(statuses, lambda: now_s[0])
    for number, worker in enumerate(("a", "b", "b")):
        statuses.say(number, worker)
    workers.reconcile(SNAPSHOT, frozenset({"a", "b"}))
    with capture_logs() as lines:
        workers.reconcile(SNAPSHOT, frozenset({"a"}))
        statuses.say(1, "a")
        now_s[0] += 0.5
        workers.reconcile(SNAPSHOT, frozenset({"a"}))
        statuses.say(2, "a", State.UNASSIGNED)
        workers.reconcile(SNAPSHOT, frozenset({"a"}))
        assert told(lines) == [{"event": "worker_lost", "worker": "b", "tasks": 2}]
        statuses.say(2, "a")
        now_s[0] += 0.25
        workers.reconcile(SNAPSHOT, frozenset({"a"}))
        workers.reconcile(SNAPSHOT, frozenset({"a"}))
    assert told(lines)[1:] == [{"event": "tasks_taken_over", "worker": "b", "tasks": 2, "took_s": 0.75}]


def test_tasks_that_are_no_more_are_not_waited_for():
    statuses = Statuses()
    workers = PresentWorkers(statuses)
    statuses.say(0, "b")
    workers.reconcile(SNAPSHOT, frozenset({"a", "b"}))
    with capture_logs() as lines:
        workers.reconcile(SNAPSHOT, frozenset({"a"}))
        workers.reconcile(ConfigSnapshot(), frozenset({"a"}))
    assert [line["event"] for line in lines] == ["worker_lost", "tasks_taken_over"]


def test_a_worker_that_comes_back_to_its_tasks_is_no_longer_gone():
    now_s = [100.0]
    statuses = Statuses()
    workers = PresentWorkers(statuses, lambda: now_s[0])
    statuses.say(0, "b")
    workers.reconcile(SNAPSHOT, frozenset({"a", "b"}))
    with capture_logs() as lines:
        workers.reconcile(SNAPSHOT, frozenset({"a"}))
        workers.reconcile(SNAPSHOT, frozenset({"a", "b"}))
        now_s[0] += 86_400
        statuses.say(0, "a")  # a rebalance moves it
        workers.reconcile(SNAPSHOT, frozenset({"a", "b"}))
    assert [line["event"] for line in lines] == ["worker_lost", "worker_joined"]
