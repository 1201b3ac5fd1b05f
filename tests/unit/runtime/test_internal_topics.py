"""Checks which topics hold the state of Connect clusters, by their names and by their records."""

from __future__ import annotations

import json

import pytest

from connect.api.errors import RejectedRowsError
from connect.cluster.model.cluster_claim import KEY, ClusterClaim
from connect.cluster.model.config_records import (
    CommitRecord,
    ConfigHistoryRecord,
    ConnectorRecord,
    FencingRecord,
    LoggerRecord,
    PlacementRecord,
    RestartRecord,
    SessionKeyRecord,
    TargetRecord,
    TaskRecord,
    WorkerRecord,
    encode,
)
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.history import ConfigVersion
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import (
    ReservedTopicError,
    ReservedTopics,
    StateKind,
    held_by_name,
    held_by_record,
)
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId

JSON = "org.apache.kafka.connect.json.JsonConverter"
KEYS = {
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "my-configs",
    "offset.storage.topic": "my-offsets", "status.storage.topic": "my-status", "key.converter": JSON,
    "value.converter": JSON,
}  # fmt: skip
WORKER = WorkerConfig.parse(KEYS)
NAMES = {
    "my-configs": StateKind.CONFIGS, "my-offsets": StateKind.OFFSETS, "my-status": StateKind.STATUSES,
    "g-slots": StateKind.SLOTS,
    "connect-backfill-jobs": StateKind.JOBS, "connect-backfill-orders": StateKind.MARKERS,
    "__consumer_offsets": StateKind.KAFKA, "__transaction_state": StateKind.KAFKA,
    "__share_group_state": StateKind.KAFKA,
    "__cluster_metadata": StateKind.KAFKA,
}  # fmt: skip
CONFIG_RECORDS = [
    ConnectorRecord("c", {"connector.class": "x"}), TaskRecord(TaskId("c", 0), {}), CommitRecord("c", 1),
    TargetRecord("c", TargetState.STARTED), FencingRecord("c", 1), RestartRecord("c", True, True),
    LoggerRecord("root", "INFO"), SessionKeyRecord("k", "HmacSHA256", 1), PlacementRecord("c", [1]),
    WorkerRecord("host:1", "http://host:1", [1]), ConfigHistoryRecord("c", 1, ConfigVersion(1, {"a": "b"})),
]  # fmt: skip


class Looked:
    """Says of some topics what they hold, and remembers which it was asked about."""

    def __init__(self, **found: StateKind) -> None:
        self._found = found
        self.asked: list[str] = []

    def __call__(self, topic: str, deadline: Deadline | None = None) -> StateKind | None:
        self.asked.append(topic)
        self.deadline = deadline
        return self._found.get(topic)


@pytest.mark.parametrize("topic", NAMES)
def test_no_row_goes_to_a_topic_of_this_cluster_whatever_allows_it(topic):
    worker = WorkerConfig.parse({**KEYS, "internal.topics.writable": topic})
    assert held_by_name(worker, topic) is NAMES[topic]
    with pytest.raises(RejectedRowsError, match=f"Topic {topic} holds this cluster's own state") as caught:
        ReservedTopics(worker).check(topic, 3)
    assert set(caught.value.rows) == {0, 1, 2}


def test_a_topic_of_another_cluster_is_told_by_its_records_and_may_be_allowed_by_the_worker():
    look = Looked(theirs=StateKind.CONFIGS)
    with pytest.raises(
        RejectedRowsError, match=r"Topic theirs holds connector conf.*internal\.topics\.writable=theirs"
    ):
        ReservedTopics(WORKER, look).check("theirs", 1)
    ReservedTopics(WorkerConfig.parse({**KEYS, "internal.topics.writable": "theirs"}), look).check("theirs", 1)


def test_a_topic_is_looked_at_once():
    look = Looked()
    reserved = ReservedTopics(WORKER, look)
    for topic in ("a", "b", "a", "a"):
        reserved.check(topic, 1)
    assert look.asked == ["a", "b"]


def test_a_look_has_the_time_of_who_asks():
    look, deadline = Looked(), Deadline.after(1)
    ReservedTopics(WORKER, look).require_free("a", "topics", deadline=deadline)
    assert look.deadline is deadline


def test_a_task_may_keep_the_kind_of_state_that_is_its_own_and_no_other():
    reserved = ReservedTopics(WORKER, Looked(mine=StateKind.OFFSETS, theirs=StateKind.MARKERS))
    reserved.require_free("mine", "offsets.storage.topic", but={StateKind.OFFSETS})
    with pytest.raises(ReservedTopicError, match="theirs holds markers") as caught:
        reserved.require_free("theirs", "offsets.storage.topic", but={StateKind.OFFSETS})
    assert caught.value.key == "offsets.storage.topic"
    with pytest.raises(ReservedTopicError, match="mine"):
        reserved.require_free("mine", "state.topic", but={StateKind.MEMORY})


@pytest.mark.parametrize("record", CONFIG_RECORDS, ids=lambda record: type(record).__name__)
def test_every_kind_of_record_of_a_config_topic_is_known(record):
    assert held_by_record(*encode(record)) is StateKind.CONFIGS


@pytest.mark.parametrize(
    ("key", "value", "held"),
    [
        (
            b"status-connector-c",
            b'{"state":"RUNNING","trace":null,"worker_id":"h:1","generation":1}',
            StateKind.STATUSES,
        ),
        (b'["c",{"table":"t"}]', b'{"incrementing":5}', StateKind.OFFSETS),
        (KEY, ClusterClaim.of(WORKER).as_bytes(), StateKind.SLOTS),
        (b'{"job":"j"}', b'{"spec":{"apiVersion":"backfill/v1"},"state":"RUNNING"}', StateKind.JOBS),
        (b'{"job":"j","wish":true}', b'{"wish":"pause"}', StateKind.JOBS),
        (b'{"chunk":"c","part":0}', b'{"checksum":1,"rows":2}', StateKind.MARKERS),
        (b'{"plan":0}', b'{"splits":[]}', StateKind.MARKERS),
        (b"ids raw.ks.t 0 7", b"\x00", StateKind.MEMORY),
        (b'["rows","raw.ks.t",0,1]', b"{}", StateKind.MEMORY),
        (b"[0,7]", b'{"connector":"c","from":"t-0@1","timestamp_ms":5}', StateKind.REPLAYED),
    ],
)
def test_records_of_cluster_state_are_known(key, value, held):
    assert held_by_record(key, value) is held


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"), (b"connector-7", None), (b"connector-7", b'{"name":"plug","volts":5}'), (b"7", b'{"id":7}'),
        (b'{"id":7}', b'{"id":7}'), (b"task-list-1", b"milk"), (b'{"job":"baker"}', b'{"salary":5}'),
        (b"[1,2]", b'{"a":1}'), (b"\xff", b"\xff"), (b'["a","b"]', b'{"a":1}'),
    ],
)  # fmt: skip
def test_rows_of_users_are_no_cluster_state(key, value):
    assert held_by_record(key, value) is None


def test_an_offset_is_told_from_a_row_also_without_spaces_or_with_them():
    for text in (json.dumps(["c", {"t": 1}]), '["c",{"t":1}]'):
        assert held_by_record(text.encode(), b"{}") is StateKind.OFFSETS


@pytest.mark.parametrize("part", ["key", "value"])
def test_a_record_that_is_nested_too_deeply_is_none(part):
    assert held_by_record(**({"key": b'["c",{}]', "value": b"{}"} | {part: b"[" * 100_000})) is None
