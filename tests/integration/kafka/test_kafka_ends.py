"""Checks on real Kafka where a consumer is behind the marks of transactions, and the rows that nobody can read."""

import pytest
from kafka_drive import Member, in_s, transactions

from connect.api.records import TopicPartition

BOTH_PATHS = pytest.mark.parametrize("path", ["columnar", "plain"])


@pytest.fixture
def write(clients, topic_name, unique):
    clients.topic(topic_name)
    return transactions(clients, topic_name, unique)


@BOTH_PATHS
def test_rows_of_an_aborted_transaction_and_marks_are_no_lag(clients, topic_name, unique, write, path):
    tp = TopicPartition(topic_name, 0)
    write(2, "commit")
    write(1_000, "abort")
    member = Member(clients.consumer(unique, path=path), [topic_name])

    member.until(lambda: member.consumer.reached_ends() == {tp: 1_004})

    assert member.values == [b"0", b"1"]
    assert member.next_offsets == {tp: 2}
    assert member.consumer.position([tp]) == {tp: 1_004}
    assert member.consumer.end_offsets() == {tp: 1_004}
    assert member.lag() == {tp: 0}
    member.consumer.seek(tp, 1)
    assert member.consumer.reached_ends() == {}, "it reads again"
    member.until(lambda: member.consumer.reached_ends() == {tp: 1_004})
    assert member.values == [b"0", b"1", b"1"]


@BOTH_PATHS
def test_a_member_that_begins_behind_the_last_row_reads_to_the_end_too(clients, topic_name, unique, write, path):
    tp = TopicPartition(topic_name, 0)
    write(2, "commit")
    first = Member(clients.consumer(unique), [topic_name])
    first.until(lambda: len(first.values) == 2)
    first.consumer.commit({tp: 2}, in_s(60))
    first.consumer.close(in_s(60))

    member = Member(clients.consumer(unique, path=path), [topic_name])
    member.until(lambda: member.consumer.reached_ends() == {tp: 3})
    assert member.consumer.position([tp]) == {tp: 3}
    assert member.values == []


@BOTH_PATHS
def test_rows_of_an_open_transaction_are_no_lag_until_it_is_committed(clients, topic_name, unique, write, path):
    tp = TopicPartition(topic_name, 0)
    write(2, "commit")
    member = Member(clients.consumer(unique, path=path), [topic_name])
    member.until(lambda: member.consumer.reached_ends() == {tp: 3})
    write(50, None)

    member.until(lambda: member.consumer._ends._fetched([tp]) == {tp: 53})
    member.until(lambda: member.lag() == {tp: 0})

    assert member.consumer.end_offsets() == {tp: 3}
    assert len(member.values) == 2
