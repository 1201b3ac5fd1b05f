"""Checks rows, shared clients and commits on real Kafka where librdkafka's client cannot be reached in
confluent_kafka's.
"""

import pyarrow as pa
import pytest
from kafka_drive import in_s, send

from connect.api.records import TopicPartition
from connect.kafka.client import inner_client
from connect.kafka.client.settings import producer_settings
from connect.kafka.consume.reads import PlainReads
from connect.kafka.produce.pooled_producer import PooledProducer, ProducerPool
from connect.kafka.raw import RawBatch


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """Clients have librdkafka's somewhere else than this code knows."""
    monkeypatch.setattr(inner_client, "_AT_BYTES", inner_client._AT_BYTES + 8)
    monkeypatch.setattr(inner_client, "_TRIAL", inner_client._Trial())


def ignore(_):
    return None


def test_rows_and_commits_move_all_the_same(clients, topic_name):
    topic = clients.topic(topic_name)
    rows = [b"%d" % i for i in range(5000)]
    send(clients, topic, rows)
    consumer = clients.consumer(f"group-{topic}")
    assert isinstance(consumer._reads, PlainReads)
    consumer.subscribe([topic], ignore, ignore, ignore)
    read, deadline = [], in_s(60)
    while len(read) < len(rows) and not deadline.expired:
        for batch in consumer.poll(1000, in_s(0.5)):
            read += batch.values.to_pylist()
            consumer.commit({TopicPartition(topic, 0): batch.next_offset}, in_s(60))

    assert read == rows
    assert clients.admin().group_offsets(f"group-{topic}", in_s(60)) == {TopicPartition(topic, 0): 5000}


def test_a_shared_client_sends(clients, topic_name):
    topic = clients.topic(topic_name)
    settings = producer_settings(clients.worker, {}, client_id="test").properties
    producer = PooledProducer(ProducerPool(), settings, settings)
    producer.send(RawBatch(topic, pa.array([b"one", b"two"], pa.binary())), in_s(60))
    producer.flush(in_s(60))
    assert [v for batch in clients.read(topic, 2) for v in batch.values.to_pylist()] == [b"one", b"two"]
    producer.close(5)
