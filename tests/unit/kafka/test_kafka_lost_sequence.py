"""An error that a new producer, or a new transaction, mends is told as such, here by librdkafka's mock brokers."""

import ctypes

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, Producer

from connect.kafka.client.errors import AbortableError, FatalProducerError
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.librdkafka import library
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

ROWS = RawBatch("t", pa.array([b"a", b"b"], pa.binary()))
PRODUCE = 0


class Brokers:
    """librdkafka's mock brokers, which live as long as their host."""

    def __init__(self):
        self._lib = library()
        for function in ("rd_kafka_handle_mock_cluster", "rd_kafka_mock_cluster_bootstraps"):
            getattr(self._lib, function).restype = ctypes.c_void_p
        self._host = Producer({"test.mock.num.brokers": 1})
        self._brokers = ctypes.c_void_p(self._lib.rd_kafka_handle_mock_cluster(client_of(self._host)))
        self._lib.rd_kafka_mock_topic_create(self._brokers, b"t", 1, 1)
        self.addresses = ctypes.string_at(self._lib.rd_kafka_mock_cluster_bootstraps(self._brokers)).decode()

    def refuse_next(self, code):
        self._lib.rd_kafka_mock_push_request_errors_array(
            self._brokers, ctypes.c_int16(PRODUCE), ctypes.c_size_t(1), (ctypes.c_int * 1)(code)
        )


@pytest.mark.parametrize(("transactional_id", "code", "told"), [
    ("", KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, FatalProducerError),
    ("id", KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, FatalProducerError),
    ("id", KafkaError.UNKNOWN_PRODUCER_ID, AbortableError),
])  # fmt: skip
def test_rows_that_brokers_have_lost_count_of_are_sent_anew(transactional_id, code, told):
    brokers = Brokers()
    settings = {"bootstrap.servers": brokers.addresses, "acks": "all", "enable.idempotence": True, "linger.ms": 0}
    producer = BatchProducer(settings | ({"transactional.id": transactional_id} if transactional_id else {}))
    if transactional_id:
        producer.init_transactions(Deadline.after(60))
        producer.begin()
    producer.send(ROWS, Deadline.after(60))
    producer.flush(Deadline.after(60))
    brokers.refuse_next(code)
    producer.send(ROWS, Deadline.after(60))
    with pytest.raises(told, match=KafkaError(code).name()):
        producer.flush(Deadline.after(60))
    producer.close()
