"""The reader of a compacted log when the client fails between two records: what was read is taken in."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from connect.kafka.log.kv_log import KeyValueLog


class Read:
    """A message as confluent_kafka has it."""

    def error(self):
        return None

    def key(self):
        return b"k"

    def value(self):
        return b"v"

    def partition(self):
        return 0

    def offset(self):
        return 7

    def timestamp(self):
        return 1, 1000


def test_a_record_is_taken_in_although_the_next_call_fails():
    class Failing:
        def poll(self, timeout_s):
            return Read()

        def consume(self, most, timeout_s):
            log._stop.set()
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    taken, told = [], []
    log = KeyValueLog("t", {}, on_record=lambda *record: taken.append(record), on_error=told.append)
    log._consumer = Failing()
    log._read()
    assert taken == [(b"k", b"v", 0, 7, 1000)]
    assert len(told) == 1
