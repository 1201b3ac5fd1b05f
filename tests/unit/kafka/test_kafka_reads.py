"""Which way records are read, and that a consumer without brokers opens, waits and closes either way."""

import pytest

from connect import native
from connect.api.deadline import Deadline
from connect.api.records import TopicPartition
from connect.kafka.columnar_reads import ColumnarReads
from connect.kafka.consumer import BatchConsumer
from connect.kafka.reads import PlainReads

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

    assert reads.take(10, 0.0, 0.0) == ([], [])
    consumer.close(Deadline.after(5))


@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_without_native_code_every_path_is_the_plain_one(monkeypatch, path):
    monkeypatch.setattr(native, "module", lambda: None)
    consumer = BatchConsumer({**SETTINGS, "consumer.path": path})

    assert isinstance(consumer._reads, PlainReads)
    assert consumer.poll(10, Deadline.after(0.05)) == []
    consumer.close(Deadline.after(5))
