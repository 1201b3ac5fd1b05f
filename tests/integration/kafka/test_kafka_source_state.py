"""Checks on real Kafka that what a source remembered behind another task's open transaction is waited for."""

from __future__ import annotations

from contextlib import closing

import pyarrow as pa
import pytest
from kafka_drive import in_s

from connect.api.errors import RetriableError
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.raw import RawBatch
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.topics.source_topics import KafkaTopics

JSON = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}


def begun(clients, topic: str, name: str, key: bytes):
    """A producer that has written an entry in a transaction and not ended it."""
    producer = clients.producer(transactional_id=name)
    producer.init_transactions(in_s(60))
    producer.begin()
    producer.send(RawBatch(topic, pa.array([b"v"], pa.binary()), keys=pa.array([key], pa.binary())), in_s(60))
    producer.flush(in_s(60))
    return producer


def test_state_that_is_committed_behind_an_open_transaction_is_read(kafka, clients, topic_name, unique):
    clients.topic(topic_name)
    first = begun(clients, topic_name, f"{unique}-1", b"first")
    begun(clients, topic_name, f"{unique}-2", b"second").commit(in_s(60))
    broker = {"bootstrap.servers": kafka.bootstrap_servers}
    topics = KafkaTopics(
        consumer_settings(broker, {}, client_id="c"), admin_settings(broker, {}, "a"),
        build_converters(Catalog.installed(), JSON, {}), lambda *_: None, None,
    )  # fmt: skip
    with closing(topics):
        with pytest.raises(RetriableError, match="A transaction is open in"):
            list(topics.state(topic_name, 0, in_s(0.3)))
        first.abort(in_s(60))
        assert [entry.key for entry in topics.state(topic_name, 0, in_s(60))] == [b"second"]
