"""Checks which way records are read, and that a consumer without brokers opens, waits and closes either way."""

from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError

from connect import native
from connect.api.records import TopicPartition
from connect.kafka.consume.columnar_reads import ColumnarReads
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.reads import PlainReads
from connect.lib.deadline import Deadline

END = KafkaError(KafkaError._PARTITION_EOF)
SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}


@pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)
def test_partitions_that_come_while_it_closes_are_left_alone():
    consumer = BatchConsumer(SETTINGS)
    reads = consumer._reads
    assert isinstance(reads, ColumnarReads)
    reads.assigned([TopicPartition("t", 0)])
    assert consumer.poll(10, Deadline.after(0.1)) == []

    reads.close()
    reads.assigned([TopicPartition("t", 1)])

    assert reads.take(10, 0.0, 0.0) == ([], [], {})
    consumer.close(Deadline.after(60))


@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_without_native_code_every_path_is_the_plain_one(monkeypatch, path):
    monkeypatch.setattr(native, "module", lambda: None)
    consumer = BatchConsumer({**SETTINGS, "consumer.path": path})

    assert isinstance(consumer._reads, PlainReads)
    assert consumer.poll(10, Deadline.after(0.05)) == []
    consumer.close(Deadline.after(60))


class Read(NamedTuple):
    """A message as confluent_kafka has it."""

    of_partition: int
    of_offset: int
    failed: KafkaError | None = None

    def error(self):
        return self.failed

    def topic(self):
        return "t"

    def partition(self):
        return self.of_partition

    def offset(self):
        return self.of_offset

    def value(self):
        return b""

    def key(self):
        return None

    def headers(self):
        return None

    def timestamp(self):
        return 1, 0


def test_what_was_read_before_a_partition_went_and_came_back_is_read_from_the_commit_on(monkeypatch):
    class Rebalanced:
        """Has two partitions, one of which goes and comes back while more is waited for; its commit is 5."""

        calls = 0

        def consume(self, most, timeout_s):
            self.calls += 1
            if self.calls == 1:
                return [Read(0, 8), Read(0, 9, END), Read(1, 3), Read(1, 4, END)]
            reads.unassigned([TopicPartition("t", 0)])
            reads.assigned([TopicPartition("t", 0)])
            return [Read(0, 5), Read(1, 4)]

    monkeypatch.setattr("connect.kafka.consume.columns._topic", Read.topic)
    monkeypatch.setattr("connect.kafka.consume.columns._partition", Read.partition)
    monkeypatch.setattr("connect.kafka.consume.columns._offset", Read.offset)
    monkeypatch.setattr("connect.kafka.consume.columns.Message", Read)
    reads = PlainReads(Rebalanced())
    taken = reads.take(10, 0.0, 0.1)
    assert {batch.partition: batch.offsets.to_pylist() for batch in taken.batches} == {0: [5], 1: [3, 4]}
    assert taken.ends == {TopicPartition("t", 1): 4}, "the end of a partition that went is not the commit's"
