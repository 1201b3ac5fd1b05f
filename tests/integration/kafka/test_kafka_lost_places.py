"""Checks on real Kafka that a partition whose next offset has gone from the log is read on, beside others and behind
pauses.
"""

import pytest
from kafka_drive import Member, in_s, send

from connect.api.records import TopicPartition

PATHS = pytest.mark.parametrize("path", ["columnar", "plain"])


def rows(partition: int, first: int, last: int) -> list[bytes]:
    return [b"%d:%d" % (partition, i) for i in range(first, last)]


def lose_rows(clients, tp: TopicPartition) -> None:
    """Write rows 10 to 29 and delete those before 17."""
    send(clients, tp.topic, rows(tp.partition, 10, 30), partition=tp.partition)
    clients.admin().delete_records({tp: 17}, in_s(60))


@PATHS
def test_pauses_do_not_swallow_that_an_offset_is_out_of_range(clients, topic_name, unique, path):
    """A sink whose target is away pauses between its tries, and brokers answer at any moment between two pauses.

    librdkafka keeps the error behind its barrier of a pause, and does not fetch the partition before it is read.
    """
    tp = TopicPartition(clients.topic(topic_name), 0)
    send(clients, topic_name, rows(0, 0, 10))
    consumer = clients.consumer(unique, path=path)
    member = Member(consumer, [topic_name])
    member.until(lambda: member.values == rows(0, 0, 10))
    consumer.pause([tp])
    lose_rows(clients, tp)
    for _ in range(5):
        consumer.resume([tp])
        in_s(0.2).wait(0.2)
        consumer.pause([tp])
        assert consumer.poll(0, in_s(0)) == []
    consumer.resume([tp])
    member.until(lambda: member.values == rows(0, 0, 10) + rows(0, 17, 30), timeout_s=20)
    (gap,) = consumer.take_gaps()
    assert (gap.offset, gap.reads_on_at) == (10, 17)


@pytest.mark.parametrize(("way", "path"), [("by hand", "columnar"), ("range", "columnar"), ("range", "plain")])
def test_an_idle_partition_stays_where_it_is_while_others_lose_their_places(clients, topic_name, unique, path, way):
    lost, idle, other = (TopicPartition(topic_name, number) for number in range(3))
    clients.topic(topic_name, partitions=3)
    for number in range(3):
        send(clients, topic_name, rows(number, 0, 10), partition=number)
    assignor = {} if way == "by hand" else {"partition_assignment_strategy": way}
    consumer = clients.consumer(unique, path=path, auto_offset_reset="earliest", **assignor)
    if way == "by hand":
        consumer.assign({lost: 0, idle: 4, other: 0})
    member = Member(consumer, None if way == "by hand" else [topic_name])
    first = 4 if way == "by hand" else 0
    expected = rows(0, 0, 10) + rows(1, first, 10) + rows(2, 0, 10)

    def reads_these(more: list[bytes]) -> None:
        expected.extend(more)
        member.until(lambda: len(member.values) >= len(expected))
        assert sorted(member.values) == sorted(expected)

    reads_these([])
    for tp in (lost, other):
        consumer.pause([tp])
        lose_rows(clients, tp)
        consumer.resume([tp])
        reads_these(rows(tp.partition, 17, 30))
    send(clients, topic_name, rows(1, 10, 11), partition=1)
    reads_these(rows(1, 10, 11))
    assert [gap.partition for gap in consumer.take_gaps()] == [lost, other]
    if way == "by hand":
        consumer.assign({})  # otherwise its end waits for the coordinator of a group that it never joined


@pytest.mark.parametrize("is_another", [True, False])
def test_a_topic_made_anew_and_filled_beyond_the_offset_is_read_from_its_first_row(
    clients, topic_name, unique, caplog, is_another
):
    """The error waits in librdkafka while a put takes its time; when the log's end is asked for, it has the offset."""
    caplog.set_level("DEBUG")
    tp = TopicPartition(clients.topic(topic_name), 0)
    send(clients, topic_name, rows(0, 0, 10))
    consumer = clients.consumer(unique, debug="topic")
    consumer.assign({tp: 0})
    member = Member(consumer)
    member.until(lambda: member.values == rows(0, 0, 10))
    if is_another:
        clients.admin().delete([topic_name], in_s(60))
        clients.topic(topic_name)
        send(clients, topic_name, rows(5, 0, 3))
    else:
        consumer.seek(tp, 20)
    deadline = in_s(60)
    place = "offset reset (at offset 10" if is_another else "offset reset (at offset 20"
    while place not in caplog.text and not deadline.expired:
        consumer.poll(0, deadline)
        deadline.wait(0.05)
    send(clients, topic_name, rows(5, 3, 30))
    if is_another:
        member.until(lambda: member.values == rows(0, 0, 10) + rows(5, 0, 30))
        assert [(gap.offset, gap.goes_back) for gap in consumer.take_gaps()] == [(10, True)]
    else:
        member.until(lambda: member.values == rows(0, 0, 10) + rows(5, 13, 30))
        assert consumer.take_gaps() == []
    consumer.assign({})
