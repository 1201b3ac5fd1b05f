import pytest
from captured_logs import capture_logs
from cluster_fakes import MemoryTopic

from connect.cluster.leader.task_placement import SETTLED_S, TaskPlacer
from connect.cluster.loop.membership import View
from connect.cluster.model.config_records import PlacementRecord, encode
from connect.cluster.model.statuses import Status
from connect.cluster.store.config_store import ConfigStore
from connect.cluster.store.status_store import StatusStore
from connect.lib.deadline import Deadline
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


class Deaf:
    def config_changed(self):
        pass


class Bench:
    def __init__(self):
        self.now_s = 100.0
        self.topic = MemoryTopic()
        self.configs = ConfigStore(self.topic.log, Deaf())
        self.statuses = StatusStore(MemoryTopic().log)
        for store in (self.configs, self.statuses):
            store.start(Deadline.after(1))
        self.placer = TaskPlacer(self.configs, self.statuses, lambda: self.now_s)

    def reconcile(self, owners, overdue=()):
        urls = {worker: f"http://{worker}" for worker in owners.values()}
        view = View(1, True, "http://a", frozenset(owners), owners, urls)
        self.placer.reconcile(self.configs.snapshot, view, overdue)
        return {task.task: slot for task, slot in self.configs.snapshot.placements.items() if task.connector == "c"}

    def publish(self, count, name="c"):
        self.configs.put_connector(name, {"n": str(count)})
        self.configs.put_tasks(name, [{}] * count)

    def report(self, number, state, worker):
        self.statuses.put_task(TaskId("c", number), Status(state, worker, None, 1))


ALONE = {0: "a", 1: "a"}
PAIR = {0: "a", 1: "a", 2: "b", 3: "b"}


@pytest.fixture
def bench():
    return Bench()


def test_new_tasks_are_spread_over_workers(bench):
    bench.publish(4)
    assert sorted(PAIR[slot] for slot in bench.reconcile(PAIR).values()) == ["a", "a", "b", "b"]


def test_what_is_placed_stays_though_its_slot_has_no_owner_for_a_while(bench):
    bench.publish(2)
    before = bench.reconcile(PAIR)
    assert bench.reconcile({0: "a", 1: "a"}) == before


def test_a_move_takes_two_steps_with_the_stop_between_them(bench):
    bench.publish(4)
    placed = bench.reconcile(ALONE)
    for number in placed:
        bench.report(number, State.RUNNING, "a")
    assert bench.reconcile(PAIR) == placed

    bench.now_s += SETTLED_S
    with capture_logs() as lines:
        kept = bench.reconcile(PAIR)
        leaving = placed.keys() - kept.keys()
        assert len(leaving) == 2
        assert bench.reconcile(PAIR) == kept
    named = [f"c-{number}" for number in sorted(leaving)]
    assert lines == [{"event": "tasks_moving", "tasks": named, "log_level": "info"}], "told once"

    for number in leaving:
        bench.report(number, State.UNASSIGNED, "a")
    assert [PAIR[bench.reconcile(PAIR)[number]] for number in leaving] == ["b", "b"]


def test_a_task_that_its_worker_has_not_taken_up_yet_is_not_moved(bench):
    """An UNASSIGNED from before would pass for its worker's word that it has let go."""
    bench.publish(4)
    placed = bench.reconcile(ALONE)
    for number in placed:
        bench.report(number, State.UNASSIGNED, "a")
    bench.reconcile(PAIR)
    bench.now_s += SETTLED_S
    assert bench.reconcile(PAIR) == placed
    bench.report(3, State.RUNNING, "a")
    assert placed.keys() - bench.reconcile(PAIR).keys() == {3}
    bench.report(3, State.FAILED, "a")
    assert 3 not in bench.reconcile(PAIR)  # its worker may be about to restart it


def test_a_task_whose_worker_is_gone_is_placed_at_once(bench):
    bench.publish(1)
    bench.report(0, State.RUNNING, "gone")
    assert bench.reconcile(ALONE) == {0: 0}


def test_tasks_that_come_back_meet_their_old_slot(bench):
    bench.publish(3)
    before = bench.reconcile(PAIR)
    bench.configs.put_tasks("c", [])
    assert bench.reconcile(PAIR) == before
    bench.configs.remove_connector("c")
    bench.reconcile(PAIR)
    bench.publish(3)
    assert bench.reconcile(PAIR) == before


def test_a_new_leader_forgets_the_slots_of_deleted_connectors(bench):
    bench.publish(1)
    bench.reconcile(PAIR)
    bench.configs.remove_connector("c")
    bench.placer.forget(bench.configs.snapshot)
    assert bench.configs.snapshot.placements == {}


def test_nothing_is_written_when_nothing_changes(bench):
    bench.publish(3)
    bench.reconcile(PAIR)
    offset = bench.configs.snapshot.next_offset
    bench.now_s += SETTLED_S
    bench.reconcile(PAIR)
    assert bench.configs.snapshot.next_offset == offset


def test_the_slot_of_a_task_that_stands_in_it_is_told_once_more(bench):
    """A reader of a compacted topic may lack the record by which the task left another slot, and so give it none."""
    bench.publish(1)
    (slot,) = bench.reconcile(PAIR).values()
    compacted = MemoryTopic()
    for record in (*bench.topic.records[:-1], encode(PlacementRecord("c", [slot + 1])), bench.topic.records[-1]):
        compacted.append(*record)
    reader = ConfigStore(compacted.log, Deaf())
    reader.start(Deadline.after(1))
    assert reader.snapshot.placements == {}
    told = len(bench.topic.records)
    for _ in range(2):
        assert bench.reconcile(PAIR, [TaskId("c", 0)]) == {0: slot}
    assert len(bench.topic.records) == told + 1
    compacted.append(*bench.topic.records[-1])
    assert reader.snapshot.placements == {TaskId("c", 0): slot}
