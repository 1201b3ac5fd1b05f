import pytest

from connect.cluster.model.config_records import (
    CommitRecord,
    ConnectorRecord,
    FencingRecord,
    LoggerRecord,
    PlacementRecord,
    RestartRecord,
    SessionKeyRecord,
    TargetRecord,
    TaskRecord,
    WorkerRecord,
    decode,
    encode,
)
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.record_json import RecordFormatError
from connect.runtime.task.task_id import TaskId

EXACT = [
    (
        ConnectorRecord("s1", {"connector.class": "FileStreamSource", "file": "/t/in", "name": "s1", "topic": "t"}),
        b"connector-s1",
        b'{"properties":{"connector.class":"FileStreamSource","file":"/t/in","name":"s1","topic":"t"}}',
    ),
    (ConnectorRecord("s1", None), b"connector-s1", None),
    (
        TaskRecord(TaskId("s-1-x", 12), {"task.class": "T"}),
        b"task-s-1-x-12",
        b'{"properties":{"task.class":"T"}}',
    ),
    (CommitRecord("s1", 1), b"commit-s1", b'{"tasks":1}'),
    (
        TargetRecord("s1", TargetState.STOPPED),
        b"target-state-s1",
        b'{"state":"PAUSED","state.v2":"STOPPED"}',
    ),
    (
        TargetRecord("s1", TargetState.STARTED),
        b"target-state-s1",
        b'{"state":"STARTED","state.v2":"STARTED"}',
    ),
    (TargetRecord("s1", None), b"target-state-s1", None),
    (FencingRecord("s1", 3), b"tasks-fencing-s1", b'{"task-count":3}'),
    (
        RestartRecord("s1", True, False),
        b"restart-connector-s1",
        b'{"include-tasks":true,"only-failed":false}',
    ),
    (LoggerRecord("connect.rest", "DEBUG"), b"logger-cluster-connect.rest", b'{"level":"DEBUG"}'),
    (
        SessionKeyRecord("a2V5", "HmacSHA256", 1700000000000),
        b"session-key",
        b'{"key":"a2V5","algorithm":"HmacSHA256","creation-timestamp":1700000000000}',
    ),
    (PlacementRecord("s1", (3, None)), b"placement-s1", b'{"slots":[3,null]}'),
    (WorkerRecord("h:1", "http://h:1", (0, 2)), b"worker-h:1", b'{"url":"http://h:1","slots":[0,2]}'),
    (WorkerRecord("h:1", "http://h:1", (0,), 7), b"worker-h:1", b'{"url":"http://h:1","slots":[0],"process":7}'),
    (
        WorkerRecord("h:1", "http://h:1", (), 7, in_transactions=True),
        b"worker-h:1",
        b'{"url":"http://h:1","slots":[],"process":7,"transactions":true}',
    ),
]


@pytest.mark.parametrize(("record", "key", "value"), EXACT, ids=lambda p: p.decode() if isinstance(p, bytes) else "")
def test_a_record_has_javas_bytes_and_comes_back_from_them(record, key, value):
    assert encode(record) == (key, value)
    assert decode(key, value) == record


def test_text_is_escaped_as_jackson_does():
    record = ConnectorRecord("n", {"k": 'é "\\u001f" \x1f \n 😀'})

    value = encode(record).value

    assert value == '{"properties":{"k":"é \\"\\\\u001f\\" \\u001F \\n \\uD83D\\uDE00"}}'.encode()
    assert decode(b"connector-n", value) == record


@pytest.mark.parametrize("name", ["task-1", "a-b-3", "connector-", "ünï 😀 %2F;{x}", "target-state-x"])
def test_any_legal_connector_name_survives_its_keys(name):
    for record in (ConnectorRecord(name, {}), CommitRecord(name, 0), TaskRecord(TaskId(name, 7), {})):
        assert decode(*encode(record)) == record


def test_a_null_property_counts_as_absent():
    assert decode(b"connector-a", b'{"properties":{"x":null,"y":"1"}}') == ConnectorRecord("a", {"y": "1"})


def test_a_target_state_of_an_old_worker_is_understood():
    assert decode(b"target-state-a", b'{"state":"PAUSED"}') == TargetRecord("a", TargetState.PAUSED)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"\xff", b"{}"),
        (b"something-else", b"{}"),
        (b"connector-a", b"not json"),
        (b"connector-a", b"[]"),
        (b"connector-a", b'{"properties":7}'),
        (b"connector-a", b'{"properties":{"x":7}}'),
        (b"task-a", b'{"properties":{}}'),
        (b"task-a-x", b'{"properties":{}}'),
        (b"commit-a", b'{"tasks":true}'),
        (b"commit-a", None),
        (b"target-state-a", b'{"state.v2":"FLYING"}'),
        (b"restart-connector-a", None),
        (b"placement-a", b'{"slots":["x"]}'),
        (b"placement-a", b'{"slots":[0,-1]}'),
        (b"worker-a", b'{"url":"http://a","slots":[-5,0]}'),
        (b"connector-a", b'{"properties":{"x":"\\ud83d"}}'),
        (b"connector-a", b'{"properties":' * 10_000),
        (b"tasks-fencing-a", b'{"task-count":1000000000}'),
        (b"tasks-fencing-a", b'{"task-count":-1}'),
        (b"commit-a", b'{"tasks":1%s}' % (b"0" * 30)),
        (b"task-a-" + b"9" * 5000, b'{"properties":{}}'),
    ],
)
def test_garbage_is_named_as_such(key, value):
    with pytest.raises(RecordFormatError):
        decode(key, value)


def test_a_session_key_is_not_shown():
    assert "a2V5" not in repr(SessionKeyRecord("a2V5", "HmacSHA256", 0))
