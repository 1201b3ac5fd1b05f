from concurrent.futures import Future

import pytest

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.offset_records import OffsetTable
from connect.runtime.source.offset_store import OffsetStore, SourceOffsets
from connect.runtime.source.offset_topics import connectors_topic, own_topic

WORKER = WorkerConfig.parse(
    {
        "bootstrap.servers": "b:1,c:1",
        "group.id": "g",
        "config.storage.topic": "c",
        "offset.storage.topic": "o",
        "status.storage.topic": "s",
        "key.converter": "J",
        "value.converter": "J",
        "offset.storage.partitions": "7",
        "offset.storage.segment.bytes": "100",
        "offset.storage.cleanup.policy": "delete",
    }
)


class Log:
    """A topic whose writes are read at once, and noted in `writes`."""

    def __init__(self, name, writes):
        self.table, self.name, self.writes, self.error = OffsetTable(), name, writes, None

    def put(self, key, value):
        done = Future()
        if self.error is not None:
            done.set_exception(self.error)
        else:
            self.writes.append((self.name, key, value))
            self.table.apply(key, value)
            done.set_result(None)
        return done

    def read_to_end(self, deadline):
        pass


@pytest.fixture
def writes():
    return []


@pytest.fixture
def logs(writes):
    return Log("own", writes), Log("workers", writes)


@pytest.fixture
def offsets(logs):
    own, workers = (OffsetStore(log, log.table, log.name) for log in logs)
    return SourceOffsets("c", own, workers)


A, B = {"p": "a"}, {"p": "b"}
KEY_A, KEY_B = b'["c",{"p":"a"}]', b'["c",{"p":"b"}]'


def test_the_connectors_topic_counts_and_the_workers_fills_its_gaps(offsets, logs):
    own, workers = (log.table for log in logs)
    workers.apply(KEY_A, b'{"n":1}')
    workers.apply(KEY_B, b'{"n":1}')
    own.apply(KEY_A, b'{"n":2}')
    assert (offsets.get(A), offsets.get(B), offsets.get({"p": "c"})) == ({"n": 2}, {"n": 1}, None)
    assert offsets.positions() == [SourcePosition(A, {"n": 2}), SourcePosition(B, {"n": 1})]
    assert offsets.topic == "own"


def test_offsets_are_copied_and_removed_from_the_copy_first(offsets, writes):
    offsets.store([SourcePosition(A, {"n": 3}), SourcePosition(B, None)], Deadline.after(60))
    assert writes == [
        ("workers", KEY_B, None),
        ("own", KEY_A, b'{"n":3}'),
        ("own", KEY_B, None),
        ("workers", KEY_A, b'{"n":3}'),
    ]


def test_a_copy_that_fails_costs_nothing_but_a_removal_that_fails_does(offsets, logs, caplog):
    own, workers = logs
    workers.error = ConnectError("not allowed")
    offsets.store([SourcePosition(A, {"n": 3})], Deadline.after(60))
    assert own.table.get("c", A) == {"n": 3}
    assert "not allowed" in caplog.text
    with pytest.raises(ConnectError, match="not allowed"):
        offsets.store([SourcePosition(A, None)], Deadline.after(60))
    assert own.table.get("c", A) == {"n": 3}


def own(config, transactional):
    parsed = SourceConnectorConfig.parse({"name": "s", "connector.class": "S", **config})
    return own_topic(WORKER, parsed, transactional=transactional)


@pytest.mark.parametrize(
    ("config", "regular", "transactional"),
    [
        ({}, None, None),
        ({"offsets.storage.topic": "mine"}, "mine", "mine"),
        ({"offsets.storage.topic": "o"}, None, None),
        ({"producer.override.bootstrap.servers": "far:1"}, None, "o"),
        ({"producer.override.bootstrap.servers": "c:1, b:1"}, None, None),
        ({"offsets.storage.topic": "o", "producer.override.bootstrap.servers": "far:1"}, "o", "o"),
    ],
)
def test_which_offsets_topic_is_the_connectors_own(config, regular, transactional):
    assert (own(config, False), own(config, True)) == (regular, transactional)


def test_an_own_offsets_topic_gets_the_workers_settings_and_is_compacted():
    topic = connectors_topic(WORKER, "mine")
    assert (topic.spec.name, topic.spec.partitions, topic.spec.replication_factor) == ("mine", 7, 3)
    assert topic.spec.configs == {"segment.bytes": "100", "cleanup.policy": "compact"}
    assert topic.factor_key == "offset.storage.replication.factor"
