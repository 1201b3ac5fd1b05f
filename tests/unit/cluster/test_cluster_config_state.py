from connect.cluster.model.config_records import (
    CommitRecord,
    ConnectorRecord,
    FencingRecord,
    PlacementRecord,
    RestartRecord,
    TargetRecord,
    TaskRecord,
    WorkerRecord,
)
from connect.cluster.model.config_state import ConfigState
from connect.cluster.model.connector_values import TargetState
from connect.runtime.task.task_id import TaskId


def fold(*records):
    state = ConfigState()
    for offset, record in enumerate(records):
        state.advance(offset)
        state.apply(record)
    return state.snapshot()


def connector(value="1"):
    return ConnectorRecord("c", {"v": value})


def task(number, value="1"):
    return TaskRecord(TaskId("c", number), {"v": value, "n": str(number)})


def test_tasks_show_only_once_they_are_committed():
    assert fold(connector(), task(0)).tasks == {}
    assert fold(connector(), task(0), CommitRecord("c", 1)).tasks == {"c": {0: {"v": "1", "n": "0"}}}


def test_a_commit_without_all_its_tasks_makes_the_connector_inconsistent_until_it_is_published_again():
    broken = fold(connector(), task(1), CommitRecord("c", 2))
    assert broken.inconsistent == {"c"}
    assert "c" not in broken.tasks

    healed = fold(connector(), task(1), CommitRecord("c", 2), task(0), task(1), CommitRecord("c", 2))
    assert healed.inconsistent == frozenset()
    assert list(healed.tasks["c"]) == [0, 1]


def test_compaction_may_leave_records_of_more_tasks_than_are_committed():
    assert list(fold(connector(), task(1), task(0), CommitRecord("c", 1)).tasks["c"]) == [0]


def test_an_uncommitted_change_of_a_task_is_not_seen():
    snapshot = fold(connector(), task(0), CommitRecord("c", 1), task(0, "2"))
    assert snapshot.tasks["c"][0]["v"] == "1"


def test_a_commit_for_an_absent_connector_leaves_no_ghost_tasks():
    snapshot = fold(task(0), CommitRecord("c", 1), connector())
    assert snapshot.tasks == {}
    assert snapshot.inconsistent == frozenset()


def test_a_delete_takes_tasks_along_and_the_target_state_by_its_own_record():
    given = (connector(), TargetRecord("c", TargetState.PAUSED), task(0), CommitRecord("c", 1))
    snapshot = fold(*given, ConnectorRecord("c", None))
    assert (snapshot.connectors, snapshot.tasks, snapshot.applied) == ({}, {}, {})
    assert snapshot.target("c") is TargetState.PAUSED
    assert fold(*given, ConnectorRecord("c", None), TargetRecord("c", None)).target("c") is TargetState.STARTED


def test_a_target_state_before_its_connector_is_kept():
    assert fold(TargetRecord("c", TargetState.STOPPED), connector()).target("c") is TargetState.STOPPED


def test_the_applied_configuration_is_that_of_the_last_commit():
    snapshot = fold(connector("1"), task(0), CommitRecord("c", 1), connector("2"))
    assert snapshot.connectors["c"] == {"v": "2"}
    assert snapshot.applied["c"] == {"v": "1"}


def test_zero_tasks_can_be_committed():
    assert fold(connector(), task(0), CommitRecord("c", 1), CommitRecord("c", 0)).tasks == {"c": {}}


def test_events_change_nothing_but_the_offset():
    snapshot = fold(connector(), RestartRecord("c", True, True), FencingRecord("c", 2))
    assert snapshot.next_offset == 3
    assert snapshot.fenced_tasks == {"c": 2}


def test_placements_name_slots_by_task():
    assert fold(PlacementRecord("c", (4, None, 9))).placements == {TaskId("c", 0): 4, TaskId("c", 2): 9}
    assert fold(PlacementRecord("c", (4,)), PlacementRecord("c", None)).placements == {}


def test_a_slot_belongs_to_the_worker_that_claimed_it_last():
    state = ConfigState()
    for offset, record in enumerate((WorkerRecord("a", "http://a", (0, 1, 2)), WorkerRecord("b", "http://b", (1,)))):
        state.apply(record)
        state.advance(offset)
    claims = state.claims()
    assert claims.workers == state.snapshot().workers
    assert claims.workers["a"].slots == (0, 2)
    assert (claims.owner(1).worker_id, claims.owner(9), claims.next_offset) == ("b", None, 2)


def test_a_snapshot_does_not_change_afterwards():
    state = ConfigState()
    state.apply(connector())
    before = state.snapshot()
    state.apply(ConnectorRecord("c", None))
    assert before.connectors == {"c": {"v": "1"}}
