"""Reads between offsets: neither transactions, nor gaps, nor what is gone make it wait."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_record, read_spans
from connect.lib.deadline import Deadline
from connect.runtime.calls.newest_records import read_newest


@pytest.fixture
def worker(kafka):
    return {"bootstrap.servers": kafka.bootstrap_servers}


@pytest.fixture
def settings(worker):
    return consumer_settings(worker, {}, client_id="reader").properties


def transactions(kafka, topic: str) -> None:
    """a, b committed; c, d aborted; e committed; markers between and behind."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(30)
    for values, end in (("ab", producer.commit_transaction), ("cd", producer.abort_transaction),
                        ("e", producer.commit_transaction)):  # fmt: skip
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value.encode(), partition=0)
        producer.flush(30)
        end(30)


def test_committed_records_up_to_the_end_are_read(kafka, worker, settings, topic_name):
    transactions(kafka, topic_name)
    admin = TopicAdmin(admin_settings(worker, {}, "reader").properties)
    place, deadline = TopicPartition(topic_name, 0), Deadline.after(60)
    (end,) = admin.end_offsets([place], deadline, committed_only=True).values()
    found = [
        pair
        for raw in read_spans(settings, {place: OffsetRange(0, end)}, deadline)
        for pair in zip(raw.offsets.to_pylist(), raw.values.to_pylist(), strict=True)
    ]
    assert found == [(0, b"a"), (1, b"b"), (6, b"e")]
    part = list(read_spans(settings, {place: OffsetRange(1, 3)}, deadline))
    assert [raw.values.to_pylist() for raw in part] == [[b"b"]]
    assert list(read_spans(settings, {place: OffsetRange(2, 2)}, deadline)) == []
    assert read_record(settings, place, 6, deadline).values.to_pylist() == [b"e"]
    with pytest.raises(ConnectError, match=f"{topic_name}-0@3 is no longer in the log"):
        read_record(settings, place, 3, deadline)
    with pytest.raises(ConnectError, match=f"{topic_name}-0@100 is no longer in the log"):
        read_record(settings, place, 100, deadline)  # as of a log that was made anew since and has fewer records
    admin.delete_records({place: 6}, deadline)
    with pytest.raises(ConnectError, match="no longer in the log"):
        read_record(settings, place, 0, deadline)


@pytest.mark.parametrize(("records", "newest"), [(1, [b"e"]), (2, [b"b", b"e"]), (3, [b"a", b"b", b"e"])])
def test_the_newest_records_are_found_before_marks_and_aborted_ones(
    kafka, worker, settings, topic_name, records, newest
):
    transactions(kafka, topic_name)
    admin = TopicAdmin(admin_settings(worker, {}, "reader").properties)
    place, deadline = TopicPartition(topic_name, 0), Deadline.after(60)
    ends = admin.end_offsets([place], deadline, committed_only=True)
    batches = read_newest(settings, {place: 0}, ends, records, deadline)
    assert sorted(value for raw in batches for value in raw.values.to_pylist()) == newest
