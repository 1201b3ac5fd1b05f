"""Checks changes of state and rebalances, kept in rings in the status topic."""

import pytest
from cluster_fakes import MemoryTopic, World, eventually

from connect.cluster.model.history import Rebalance, StateChange
from connect.cluster.model.record_json import RecordFormatError
from connect.cluster.model.request_errors import NotFoundError
from connect.cluster.model.state_history import REBALANCES_KEPT, STATES_KEPT
from connect.cluster.model.status_records import RebalanceRecord, StateHistoryRecord, decode, encode
from connect.cluster.model.statuses import Status
from connect.cluster.store.status_store import StatusStore
from connect.lib.deadline import Deadline
from connect.runtime.task.messages import TaskState
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

RUNNING = Status(State.RUNNING, "me:1", None, 3, "1.0")
MEMBERS = b'"trace":null,"worker_id":"me:1","generation":3,"version":"1.0","number":12,"changed_ms":5}'


@pytest.fixture
def topic():
    return MemoryTopic()


@pytest.fixture
def store(topic):
    opened = StatusStore(topic.log)
    opened.start(Deadline.after(1))
    yield opened
    opened.close()


def failed(trace="boom", worker="me:1"):
    return Status(State.FAILED, worker, trace, 3, "1.0")


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            StateHistoryRecord("c-1", 7, 2, StateChange(12, 7, RUNNING, 5)),
            b"history-state-c-1-7-2",
            b'{"state":"RUNNING",' + MEMBERS,
        ),
        (
            StateHistoryRecord("c-1", None, 2, StateChange(12, None, RUNNING, 5)),
            b"history-state-c-1-connector-2",
            b'{"state":"RUNNING",' + MEMBERS,
        ),
        (StateHistoryRecord("c", None, 2, None), b"history-state-c-connector-2", None),
        (
            RebalanceRecord(1, Rebalance(1, 9, "a:1", ("a:1", "b:1"), 5)),
            b"history-rebalance-1",
            b'{"number":1,"generation":9,"leader":"a:1","workers":["a:1","b:1"],"changed_ms":5}',
        ),
    ],
)
def test_a_record_comes_back_from_its_bytes(record, key, value):
    assert encode(record) == (key, value)
    assert decode(key, value) == record


@pytest.mark.parametrize("key", [b"history-state-c", b"history-state-c-1", b"history-rebalance-x"])
def test_garbage_is_named_as_such(key):
    with pytest.raises(RecordFormatError):
        decode(key, b"{}")


def test_changes_are_kept_with_their_traces_and_repetitions_are_not(store):
    for status in (RUNNING, RUNNING, failed(), failed(), failed("again"), RUNNING):
        store.put_task(TaskId("c", 0), status)
    shown = [(change.number, change.task, change.status.state.value, change.status.trace)
             for change in store.state_changes("c")]  # fmt: skip
    assert shown == [
        (1, 0, "RUNNING", None),
        (2, 0, "FAILED", "boom"),
        (3, 0, "FAILED", "again"),
        (4, 0, "RUNNING", None),
    ]


def test_the_rings_are_bounded_and_go_on_after_a_restart(store, topic):
    for number in range(STATES_KEPT):
        store.put_connector("c", failed(str(number)))
    again = StatusStore(topic.log)
    again.start(Deadline.after(1))
    for number in range(STATES_KEPT, STATES_KEPT + 3):
        again.put_connector("c", failed(str(number)))
    traces = [change.status.trace for change in again.state_changes("c")]
    assert traces == [str(number) for number in range(3, STATES_KEPT + 3)]
    assert store.state_changes("c") == again.state_changes("c")
    kept = {key for key in topic.keys() if key.startswith("history-")}  # noqa: SIM118 - a list of keys
    assert len(kept) == STATES_KEPT


def test_a_forgotten_connector_leaves_no_history_and_begins_anew(store, topic):
    store.put_connector("c", RUNNING)
    store.put_task(TaskId("c", 0), RUNNING)
    store.forget("c")
    assert store.names() == frozenset()
    assert [key for key, value in dict(topic.records).items() if value is not None] == []
    store.put_connector("c", RUNNING)
    assert [change.number for change in store.state_changes("c")] == [1]


def test_rebalances_are_remembered_once_each(store):
    for generation in range(REBALANCES_KEPT + 2):
        store.put_rebalance(generation, "a:1", ["b:1", "a:1"])
        store.put_rebalance(generation, "a:1", ["a:1", "b:1"])
    found = store.rebalances()
    assert [rebalance.generation for rebalance in found] == list(range(2, REBALANCES_KEPT + 2))
    assert found[-1].workers == ("a:1", "b:1")


def test_a_herder_tells_how_a_connector_fared():
    world = World()
    herder = world.herder(**{"auto.restart.enabled": "false"})
    herder.connectors.create("s", {"connector.class": "Source", "name": "s"}, None).result(60)
    eventually(world.started)
    run = world.started()[0].run
    world.task_hosts()[0].say(TaskState("s", 0, run, State.FAILED, "Trace: boom", False))

    def of_task():
        changes = herder.history.state_changes("s")
        return [(change.status.state.value, change.status.trace) for change in changes if change.task == 0]

    eventually(lambda: of_task() == [("RUNNING", None), ("FAILED", "Trace: boom")])
    assert [rebalance.workers for rebalance in herder.history.rebalances()] == [("me:1",)]
    with pytest.raises(NotFoundError, match="Connector x not found"):
        herder.history.state_changes("x")
    herder.stop(Deadline.after(60))
