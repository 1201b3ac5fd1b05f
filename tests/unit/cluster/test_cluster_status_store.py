from types import SimpleNamespace

import pytest
from cluster_fakes import MemoryTopic

from connect.cluster.herder.task_statuses import SAY_AGAIN_S, TaskStatuses
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.record_json import RecordFormatError
from connect.cluster.model.status_records import (
    ConnectorStatusRecord,
    TaskStatusRecord,
    TopicRecord,
    TopicUse,
    decode,
    encode,
)
from connect.cluster.model.statuses import Status
from connect.cluster.store.status_store import StatusStore
from connect.lib.deadline import Deadline
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

T = TaskId("s-1", 0)


def status(state=State.RUNNING, worker="me:1", generation=1):
    return Status(state, worker, None, generation, "1.0")


EXACT = [
    (
        TaskStatusRecord(TaskId("s1", 0), Status(State.RUNNING, "10.0.0.1:8083", None, 3, "4.1.0")),
        b"status-task-s1-0",
        b'{"state":"RUNNING","trace":null,"worker_id":"10.0.0.1:8083","generation":3,"version":"4.1.0"}',
    ),
    (
        ConnectorStatusRecord("s1", Status(State.FAILED, "h:1", "boom\n", 1)),
        b"status-connector-s1",
        b'{"state":"FAILED","trace":"boom\\n","worker_id":"h:1","generation":1,"version":null}',
    ),
    (ConnectorStatusRecord("s1", None), b"status-connector-s1", None),
    (
        TopicRecord("s1", "t", TopicUse(0, 1700000000000)),
        b"status-topic-t:connector-s1",
        b'{"topic":{"name":"t","connector":"s1","task":0,"discoverTimestamp":1700000000000}}',
    ),
    (TopicRecord("a:connector-b", "t", None), b"status-topic-t:connector-a:connector-b", None),
]


@pytest.mark.parametrize(("record", "key", "value"), EXACT, ids=lambda p: p.decode() if isinstance(p, bytes) else "")
def test_a_record_has_javas_bytes_and_comes_back_from_them(record, key, value):
    assert encode(record) == (key, value)
    assert decode(key, value) == record


def test_a_status_of_a_worker_older_than_4_1_has_no_version():
    value = b'{"state":"PAUSED","trace":null,"worker_id":"h:1","generation":2}'
    assert decode(b"status-connector-a", value) == ConnectorStatusRecord("a", Status(State.PAUSED, "h:1", None, 2))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"x", b"{}"),
        (b"status-task-a", b"{}"),
        (b"status-connector-a", b'{"state":"DESTROYED","worker_id":"h:1","generation":1}'),
        (b"status-connector-a", b'{"state":"RUNNING"}'),
        (b"status-topic-t", b"{}"),
    ],
)
def test_garbage_is_named_as_such(key, value):
    with pytest.raises(RecordFormatError):
        decode(key, value)


@pytest.fixture
def topic():
    return MemoryTopic()


@pytest.fixture
def store(topic):
    opened = StatusStore(topic.log)
    opened.start(Deadline.after(1))
    yield opened
    opened.close()


@pytest.mark.parametrize("state", [State.UNASSIGNED, State.FAILED])
def test_an_old_worker_has_no_say_over_a_later_generation(store, state):
    store.put_task(T, status(worker="new:1", generation=5))
    store.put_task(T, status(state, worker="old:1", generation=4))
    assert store.tasks("s-1")[0].worker_id == "new:1"
    store.put_task(T, status(state, worker="old:1", generation=5))
    assert (store.tasks("s-1")[0].state is state) == (state is State.FAILED)


def test_a_new_owner_tells_its_failure_whenever_the_former_one_claimed_its_slots(store):
    store.put_task(T, status(State.UNASSIGNED, worker="former:1", generation=900))
    store.put_task(T, status(State.FAILED, worker="owner:1", generation=500))
    assert (store.tasks("s-1")[0].state, store.tasks("s-1")[0].worker_id) == (State.FAILED, "owner:1")


def test_what_an_old_owner_says_late_is_no_news_whenever_it_claimed_its_slots(store, topic):
    for state in (State.RUNNING, State.PAUSED, State.FAILED, State.RESTARTING):
        said = status(state, worker="new:1", generation=1)
        store.put_task(T, said)
        store.put_task(T, status(State.UNASSIGNED, worker="old:1", generation=9))
        topic.append(*encode(TaskStatusRecord(T, status(State.UNASSIGNED, "old:1", 9))))
        assert store.tasks("s-1")[0] == said
        # Whoever reads the compacted topic later would see the late one alone.
        assert store.seen_of("me:1", {T: said}).overruled == [T]
        store.put_task(T, said)
        assert not store.seen_of("me:1", {T: said}).overruled


def test_running_is_written_whatever_is_known(store):
    store.put_task(T, status(worker="new:1", generation=5))
    store.put_task(T, status(worker="old:1", generation=4))
    assert store.tasks("s-1")[0].worker_id == "old:1"


def test_a_late_unassigned_read_from_the_topic_does_not_undo_running(store, topic):
    store.put_connector("s-1", status(worker="new:1", generation=5))
    topic.append(*encode(ConnectorStatusRecord("s-1", status(State.UNASSIGNED, "old:1", 5))))
    assert store.connector("s-1").state is State.RUNNING
    topic.append(*encode(ConnectorStatusRecord("s-1", status(State.UNASSIGNED, "new:1", 5))))
    assert store.connector("s-1").state is State.UNASSIGNED


def test_tasks_come_sorted_by_number(store):
    for number in (10, 2, 0):
        store.put_task(TaskId("s-1", number), status())
    assert list(store.tasks("s-1")) == [0, 2, 10]


def test_a_topic_is_written_once(store, topic):
    for _ in range(3):
        store.use_topic(T, "t")
    assert len(topic.records) == 1
    store.reset_topics("s-1", Deadline.after(1))
    assert store.topics("s-1") == {}
    store.use_topic(T, "t")
    assert list(store.topics("s-1")) == ["t"]


def test_forgetting_a_connector_leaves_nothing(store):
    store.put_connector("s-1", status())
    store.put_task(T, status())
    store.use_topic(T, "t")
    store.forget("s-1")
    assert store.names() == frozenset()


def test_tasks_of_other_workers_are_not_asked_for_one_by_one(store, monkeypatch):
    """A large cluster's tasks are mostly those of others, and each worker looks at its statuses at every change."""
    for number in range(100):
        store.put_task(TaskId(f"c-{number}", 0), status(worker="other:1"))
    mine, left, lost = (TaskId(name, 0) for name in ("mine", "left", "lost"))
    for task in (mine, left):
        store.put_task(task, status())
    tasks = {**{f"c-{n}": {0: {}} for n in range(100)}, **{t.connector: {0: {}} for t in (mine, left, lost)}}
    snapshot = ConfigSnapshot(tasks=tasks)
    asked = []
    monkeypatch.setattr(StatusStore, "tasks", lambda _, name: asked.append(name))
    parts = SimpleNamespace(
        statuses=store, worker_id="me:1", status=lambda state, *_: status(state), awaits_fencing=lambda *_: False
    )
    now_s = [0.0]
    statuses = TaskStatuses(parts, lambda: now_s[0])
    statuses.say(lost, State.RUNNING, {})
    store.put_task(lost, status(worker="other:1"))

    now_s[0] = SAY_AGAIN_S
    statuses.reconcile(snapshot, {mine, lost}, {mine})

    assert asked == []
    monkeypatch.undo()
    assert store.tasks("mine")[0] == status()
    assert store.tasks("left")[0] == status(State.UNASSIGNED), "nobody runs it here any more"
    assert store.tasks("lost")[0] == status(), "what was said is said again"
    assert {store.tasks(f"c-{n}")[0].worker_id for n in range(100)} == {"other:1"}
