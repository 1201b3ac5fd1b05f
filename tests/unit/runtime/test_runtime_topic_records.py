"""Checks how a topic that tells a source what to do is read, and that its client gets the worker's login for its own
brokers alone.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.api.errors import ConfigError
from connect.api.topics import TopicRecord
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.parts.task_topics import TaskTopics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId
from connect.runtime.topics.topic_records import KafkaTopicRecords
from connectors.jdbc.debezium.binlog.config import DebeziumMySqlConfig
from connectors.jdbc.debezium.shared.keys import SIGNAL_CLIENT

JSON = "org.apache.kafka.connect.json.JsonConverter"
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="topsecret";'
TOPICS = TaskTopics(
    WorkerConfig.parse({
        "bootstrap.servers": "own:9092", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
        "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN,
    })
)  # fmt: skip
SHOP = {
    "database.hostname": "db", "database.user": "u", "topic.prefix": "shop", "signal.enabled.channels": "source,kafka",
}  # fmt: skip


def _opened(**client: str) -> None:
    TOPICS.records_of(TaskId("shop", 0), "signals", client, SIGNAL_CLIENT)


def test_the_workers_login_goes_to_its_own_brokers_alone() -> None:
    _opened(**{"bootstrap.servers": "own:9092"})
    with pytest.raises(ConfigError, match="the worker's own login is not sent there") as caught:
        _opened(**{"bootstrap.servers": "other:9092"})
    assert "topsecret" not in str(caught.value)
    _opened(**{"bootstrap.servers": "other:9092", "sasl.jaas.config": LOGIN.replace("topsecret", "own")})


def test_what_a_worker_does_not_allow_is_told_by_the_connectors_keys() -> None:
    with pytest.raises(ConfigError) as caught:
        _opened(**{"bootstrap.servers": "own:9092", "ssl.truststore.location": "/etc/shadow"})
    (problem,) = caught.value.problems
    assert problem.key == "signal.consumer.ssl.truststore.location"
    assert "allowed.paths=/etc/shadow" in problem.message


def test_the_client_of_signals_has_the_connectors_settings() -> None:
    given = {"signal.kafka.bootstrap.servers": "k:9092", "signal.consumer.client.id": "x"}
    config = DebeziumMySqlConfig.parse({**SHOP, **given})
    assert config.signal_client == {"client.id": "x", "bootstrap.servers": "k:9092"}
    assert config.own_signal_topic == "shop-signal"
    with pytest.raises(ConfigError, match=r"name the brokers in signal\.kafka\.bootstrap\.servers"):
        DebeziumMySqlConfig.parse(SHOP)


def test_records_without_a_key_are_read_as_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = RawBatch("signals", pa.array([b"a", b"b"]), offsets=pa.array([7, 9]), partition=0, next_offset=10)
    monkeypatch.setattr(BatchConsumer, "poll", lambda *_: [raw])
    records = KafkaTopicRecords("signals", {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})
    try:
        found = records.poll(Deadline.after(1))
    finally:
        records.close()
    assert found == [TopicRecord(None, b"a", 7), TopicRecord(None, b"b", 9)]
