"""A producer writes to partitions that a topic got after the producer had first heard of the topic."""

from dataclasses import replace

import pyarrow as pa
import pytest
from kafka_drive import in_s, read_values

from connect import native
from connect.api.errors import ConnectError
from connect.kafka.admin.topic_changes import TopicChanges
from connect.kafka.produce import added_partitions, columnar_path, plain_path
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import SharedHeaders

pytestmark = pytest.mark.usefixtures("kafka")
FORMS = {
    "columnar": {}, "columnar, copying": {}, "plain": {}, "columnar, times": {"timestamps_ms": pa.array([1, 2])},
    "columnar, headers": {"headers": SharedHeaders((("h", b"1"),), 2)},
}  # fmt: skip
"""Rows get into librdkafka in another way each: by native code in batches or singly, by NumPy, or one by one."""


@pytest.mark.parametrize("way", FORMS)
def test_a_partition_that_was_added_meanwhile_is_written_to(clients, topic_name, values, unique, monkeypatch, way):
    if "copying" in way:
        monkeypatch.setattr(native, "module", lambda: None)
    topic = clients.topic(topic_name)
    rows = values(topic, [b"a", b"b"], **FORMS[way])
    producer = clients.producer(unique, path=way.partition(",")[0])
    producer.init_transactions(in_s(60))
    producer.begin()
    producer.send(rows, in_s(60))
    producer.flush(in_s(60))
    TopicChanges(clients.worker).widen(topic, 2, in_s(60))

    receipt = Receipt()
    producer.send(replace(rows, partition=1), in_s(60), receipt)
    producer.commit(in_s(60))
    producer.check()

    assert receipt.is_settled
    assert sorted(read_values(clients, topic, 4)) == [b"a", b"a", b"b", b"b"]
    monkeypatch.setattr(added_partitions, "HEARD_OF_S", 0.2)
    producer.begin()
    with pytest.raises(ConnectError, match=f"topic {topic}.*Unknown partition.*give the topic more partitions"):
        producer.send(replace(rows, partition=7), in_s(60), receipt)
    assert not receipt.is_settled


@pytest.mark.parametrize("way", FORMS)
def test_a_partition_of_which_the_asked_broker_has_not_heard_yet_is_awaited(
    clients, topic_name, values, unique, monkeypatch, way
):
    """Brokers hear of a partition after whoever made it: 3 of 150 times on one broker that has nothing else to do."""
    if "copying" in way:
        monkeypatch.setattr(native, "module", lambda: None)
    topic = clients.topic(topic_name)
    rows = values(topic, [b"a", b"b"], **FORMS[way])
    asks = []

    def widened_after(ask):
        def asked(*where):
            found = ask(*where)
            asks.append(found)
            if len(asks) == 2:
                TopicChanges(clients.worker).widen(topic, 2, in_s(60))
            return found

        return asked

    for path, name in ((plain_path, "may_be_there"), (columnar_path, "may_be_there_for")):
        monkeypatch.setattr(path, name, widened_after(getattr(path, name)))
    producer = clients.producer(unique, path=way.partition(",")[0])
    producer.init_transactions(in_s(60))
    producer.begin()
    producer.send(rows, in_s(60))
    producer.flush(in_s(60))
    receipt = Receipt()
    producer.send(replace(rows, partition=1), in_s(60), receipt)
    producer.commit(in_s(60))
    assert receipt.is_settled
    assert sorted(read_values(clients, topic, 4)) == [b"a", b"a", b"b", b"b"]
    assert asks[:2] == [False, False]
