"""Holds what tests of the Kafka clients do with them: send, read, belong to a group, keep a table."""

import threading

import pyarrow as pa

from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline


def in_s(timeout_s):
    return Deadline.after(timeout_s)


class Member:
    """Keeps a consumer that notes what it was told and what it has read; without topics it is none of a group."""

    def __init__(self, consumer, topics=None):
        self.consumer = consumer
        self.events = []
        self.values = []
        self.next_offsets = {}
        if topics is not None:
            consumer.subscribe(topics, self._note("assigned"), self._note("revoked"), self._note("lost"))

    def _note(self, what):
        return lambda partitions: self.events.append((what, sorted(partitions)))

    def poll(self, timeout_s=0.2, max_records=1000):
        for batch in self.consumer.poll(max_records, in_s(timeout_s)):
            self.values += batch.values.to_pylist()
            self.next_offsets[TopicPartition(batch.topic, batch.partition)] = batch.next_offset

    def lag(self):
        """How many offsets each partition has behind the member's place, where it is known."""
        ends = self.consumer.end_offsets()
        return {tp: max(0, ends[tp] - at) for tp, at in self.consumer.position(ends).items()}

    def until(self, condition, timeout_s=60, others=()):
        deadline = in_s(timeout_s)
        while not condition() and not deadline.expired:
            for member in (self, *others):
                member.poll()
        assert condition(), (self.events, len(self.values))


def send(clients, topic, rows, **more):
    producer = clients.producer()
    producer.send(RawBatch(topic, pa.array(rows, pa.binary()), **more), in_s(60))
    producer.flush(in_s(60))


def transactions(clients, topic, transactional_id):
    """Return a function that writes rows in a transaction and ends it by commit or abort, or leaves it open for
    None.
    """
    producer = clients.producer(transactional_id=transactional_id)
    producer.init_transactions(in_s(60))

    def write(rows, end):
        producer.begin()
        producer.send(RawBatch(topic, pa.array([b"%d" % i for i in range(rows)], pa.binary())), in_s(60))
        producer.flush(in_s(60))
        if end is not None:
            getattr(producer, end)(in_s(60))

    return write


def read_values(clients, topic, count, **overrides):
    return [v for batch in clients.read(topic, count, **overrides) for v in batch.values.to_pylist()]


class Table:
    """Holds the table that a log's records add up to."""

    def __init__(self):
        self.now = {}
        self.seen = []
        self.threads = set()

    def take(self, key, value, partition, offset, timestamp_ms):
        self.threads.add(threading.current_thread().name)
        self.seen.append((key, value, partition, offset, timestamp_ms))
        if value is None:
            self.now.pop(key, None)
        else:
            self.now[key] = value
