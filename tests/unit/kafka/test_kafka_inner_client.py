"""What of confluent_kafka's memory is used is tried first; where it is not as it was, its own calls do the work."""

import ctypes
import threading

import confluent_kafka
import pytest
from confluent_kafka import Producer

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.admin.group_offsets import alter_offsets
from connect.kafka.client import inner_client
from connect.kafka.client.inner_client import client_of, is_library_known
from connect.kafka.client.librdkafka import library
from connect.kafka.consume.commits import commit
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.reads import PlainReads
from connect.kafka.produce.plain_path import PlainPath
from connect.kafka.produce.producer import BatchProducer
from connect.lib.deadline import Deadline

NO_BROKER = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


@pytest.fixture
def untried(monkeypatch):
    """As in a process that has no client yet."""
    monkeypatch.setattr(inner_client, "_TRIAL", inner_client._Trial())


@pytest.fixture
def elsewhere(untried, monkeypatch):
    """Clients have librdkafka's somewhere else."""
    monkeypatch.setattr(inner_client, "_AT_BYTES", inner_client._AT_BYTES + 8)


def test_the_client_inside_is_the_one_that_librdkafka_knows_by_this_name(untried):
    client = Producer({"client.id": "of-this-test", "log_level": 0})
    name = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("rd_kafka_name", library()))
    assert is_library_known()
    assert name(client_of(client)).startswith(b"of-this-test#producer-")


@pytest.mark.parametrize("at_bytes", [0, 8, 24, 48, 100, 168, 176, 100_000])
def test_a_pointer_from_anywhere_else_ends_no_process(untried, monkeypatch, at_bytes):
    monkeypatch.setattr(inner_client, "_AT_BYTES", at_bytes)
    assert client_of(Producer(NO_BROKER)) is None
    assert not is_library_known()


@pytest.mark.parametrize("version", [0x03000000, 0x020F00FF])
def test_another_library_than_the_one_loaded_is_not_called(untried, monkeypatch, version):
    monkeypatch.setattr(confluent_kafka, "libversion", lambda: ("?", version))
    assert not is_library_known()


def test_a_library_that_cannot_be_found_leaves_the_work_to_confluent_kafka(untried, monkeypatch):
    def absent():
        raise ConnectError("confluent-kafka was installed without its own librdkafka.")

    monkeypatch.setattr(inner_client, "library", absent)
    assert client_of(Producer(NO_BROKER)) is None


def test_the_log_says_so_once_however_many_ask(elsewhere, caplog):
    asking = [threading.Thread(target=is_library_known) for _ in range(8)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("Kafka is read and written by confluent-kafka's own calls, which cost more CPU: ")


def test_clients_take_the_plain_way_then(elsewhere):
    producer = BatchProducer({**NO_BROKER, "producer.path": "columnar"})
    consumer = BatchConsumer({**NO_BROKER, "group.id": "g"})
    assert isinstance(producer._path, PlainPath)
    assert isinstance(consumer._reads, PlainReads)
    producer.close()
    consumer.close(Deadline.after(60))


def test_a_commit_without_an_answer_ends_in_time_there_too(elsewhere):
    consumer = confluent_kafka.Consumer({**NO_BROKER, "group.id": "g"})
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        commit(consumer, {TopicPartition("t", 0): 1}, Deadline.after(0.2))
    assert raised.value.args[0].code() == confluent_kafka.KafkaError._TIMED_OUT


def test_what_confluent_kafka_cannot_do_is_said_with_what_can_be_done(elsewhere):
    class Admin:
        client = Producer(NO_BROKER)

    with pytest.raises(ConnectError, match="Set them to a number, or forget those of all partitions"):
        alter_offsets(Admin(), "g", {TopicPartition("t", 0): None}, Deadline.after(1))
