import re
import threading

import pyarrow as pa
import pytest
from kafka_drive import Member, in_s, send

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.client.errors import FencedError
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline


def ignore(_):
    return None


def tps(topic, *partitions):
    return [TopicPartition(topic, p) for p in partitions]


def test_one_batch_per_partition_in_offset_order(clients, topic_name):
    topic = clients.topic(topic_name, 3)
    rows = [b"%d" % i for i in range(3000)]
    send(clients, topic, rows, keys=pa.array(rows, pa.binary()))

    batches = clients.read(topic, 3000)

    assert sorted(v for b in batches for v in b.values.to_pylist()) == sorted(rows)
    for partition in range(3):
        offsets = [o for b in batches if b.partition == partition for o in b.offsets.to_pylist()]
        assert offsets == list(range(len(offsets)))
    assert all(b.next_offset == b.offsets[-1].as_py() + 1 for b in batches)


def test_both_paths_read_the_same(clients, topic_name):
    topic = clients.topic(topic_name)
    headers = [[("h", b"1"), ("h", None)], [], [("schlüssel", b"")], []]
    times = pa.array([1, 1_700_000_000_000, 2, 3], pa.int64())
    keys = pa.array([b"k", None, b"", b"\x00"], pa.binary())
    send(clients, topic, [b"v", None, b"", b"\xff" * 70_000], keys=keys, headers=headers, timestamps_ms=times)
    send(clients, topic, [b"plain"] * 2000)

    columnar, plain = (joined(clients.read(topic, 2004, path=path)) for path in ("columnar", "plain"))

    assert columnar == plain
    assert [key for key, _, _ in columnar[0][:4]] == keys.to_pylist()
    assert [value for _, value, _ in columnar[0][:4]] == [b"v", None, b"", b"\xff" * 70_000]
    assert [ms for _, _, ms in columnar[0][:4]] == times.to_pylist()
    assert columnar[1][:4] == headers
    assert columnar[2] == list(range(2004))


class Latin(str):
    """A name as a client of another language may write it."""

    __slots__ = ()

    def encode(self, *_):
        return super().encode("latin-1")


def test_a_header_whose_name_is_no_utf8_is_read_as_in_java(clients, topic_name):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"v", b"w"], headers=[[(Latin("schl\xfcssel"), b"1")], [("h", None)]])
    (batch,) = clients.read(topic, 2)
    assert [list(row) for row in batch.headers] == [[("schl\ufffdssel", b"1")], [("h", None)]]


def joined(batches):
    """Rows, headers and offsets of all batches."""
    rows, headers, offsets = [], [], []
    for batch in batches:
        keys = [None] * len(batch) if batch.keys is None else batch.keys.to_pylist()
        rows += zip(keys, batch.values.to_pylist(), batch.timestamps_ms.to_pylist(), strict=True)
        headers += [list(row) for row in batch.headers or [()] * len(batch)]
        offsets += batch.offsets.to_pylist()
    return rows, headers, offsets


def test_a_poll_gives_no_more_than_it_was_asked_for(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"%d" % i for i in range(100)])
    member = Member(clients.consumer(unique), [topic])

    member.until(lambda: len(member.values) > 0, timeout_s=20)
    before = len(member.values)
    member.poll(5, max_records=7)

    assert len(member.values) - before in range(8)


def test_a_poll_without_records_returns_by_its_deadline_or_at_stop(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    member = Member(clients.consumer(unique), [topic])
    member.until(lambda: member.events)
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    deadline = Deadline.after(30, stop)

    assert member.consumer.poll(100, deadline) == []
    assert stop.is_set()


def test_markers_of_transactions_leave_gaps_in_offsets_only(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    producer = clients.producer(transactional_id=unique)
    producer.init_transactions(in_s(60))
    for row, end in ((b"a", producer.commit), (b"no", producer.abort), (b"b", producer.commit)):
        producer.begin()
        producer.send(RawBatch(topic, pa.array([row], pa.binary())), in_s(60))
        producer.flush(in_s(60))
        end(in_s(60))

    batches = clients.read(topic, 2)

    assert [v for b in batches for v in b.values.to_pylist()] == [b"a", b"b"]
    assert [o for b in batches for o in b.offsets.to_pylist()] == [0, 4]
    assert batches[-1].next_offset == 5


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_committed_offsets_are_where_the_next_member_starts(clients, topic_name, unique, protocol):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"%d" % i for i in range(10)])
    first = Member(clients.consumer(unique, group_protocol=protocol), [topic])
    first.until(lambda: len(first.values) == 10)
    (tp,) = tps(topic, 0)

    assert first.consumer.committed([tp], in_s(60)) == {}
    first.consumer.commit({tp: 4}, in_s(60))

    assert first.consumer.committed([tp], in_s(60)) == {tp: 4}
    assert first.consumer.position([tp]) == {tp: 10}
    assert first.lag() == {tp: 0}
    first.consumer.close(in_s(60))
    assert first.events[-1] == ("revoked", [tp])
    second = Member(clients.consumer(unique, group_protocol=protocol), [topic])
    second.until(lambda: len(second.values) == 6)
    assert second.values == [b"%d" % i for i in range(4, 10)]


def test_a_remark_stays_beside_the_offsets_of_its_partition(clients, topic_name, unique):
    topic = clients.topic(topic_name, 2)
    first, second = tps(topic, 0, 1)
    member = Member(clients.consumer(unique), [topic])
    member.until(lambda: member.consumer.assignment() == {first, second})
    member.consumer.remarks.own[second] = "ä remark"
    member.consumer.commit({first: 3, second: 4}, in_s(60))
    assert member.consumer.remarks.committed([first, second], in_s(60)) == {second: "ä remark"}
    del member.consumer.remarks.own[second]
    member.consumer.commit({second: 5}, in_s(60))
    assert member.consumer.remarks.committed([first, second], in_s(60)) == {}
    assert member.consumer.committed([first, second], in_s(60)) == {first: 3, second: 5}


def test_offsets_of_partitions_that_are_not_owned_are_not_committed(clients, topic_name, unique):
    topic = clients.topic(topic_name, 2)
    member = Member(clients.consumer(unique), [topic])
    member.until(lambda: member.events)

    with pytest.raises(FencedError, match=f"{topic}-7"):
        member.consumer.commit({TopicPartition(topic, 7): 1}, in_s(60))


def test_a_second_member_takes_half_and_leaves_the_rest_alone(clients, topic_name, unique):
    topic = clients.topic(topic_name, 4)
    send(clients, topic, [b"%d" % i for i in range(400)], keys=pa.array([b"%d" % i for i in range(400)], pa.binary()))
    first = Member(clients.consumer(unique), [topic])
    first.until(lambda: len(first.values) == 400)
    second = Member(clients.consumer(unique), [topic])

    first.consumer.commit(first.next_offsets, in_s(60))
    second.until(lambda: len(second.consumer.assignment()) == 2, others=[first])

    assert first.events[0] == ("assigned", tps(topic, 0, 1, 2, 3))
    revoked = [partitions for what, partitions in first.events if what == "revoked" and partitions]
    assert revoked == [sorted(second.consumer.assignment())], "only what moved was revoked"
    assert first.consumer.assignment() | second.consumer.assignment() == set(tps(topic, 0, 1, 2, 3))

    second.consumer.close(in_s(60))
    first.until(lambda: len(first.consumer.assignment()) == 4)
    send(clients, topic, [b"new"] * 40)
    first.until(lambda: len(first.values) == 440)
    assert first.values[400:] == [b"new"] * 40, "nothing that was committed came again"


def test_offsets_can_be_committed_while_partitions_are_revoked(clients, topic_name, unique):
    topic = clients.topic(topic_name, 2)
    send(clients, topic, [b"x"] * 10, partition=0)
    send(clients, topic, [b"y"] * 10, partition=1)
    consumer = clients.consumer(unique)
    read = {}

    def commit(partitions):
        consumer.commit({tp: read[tp] for tp in partitions if tp in read}, in_s(60))

    consumer.subscribe([topic], ignore, commit, ignore)
    deadline = in_s(60)
    while len(read) < 2 and not deadline.expired:
        read |= {TopicPartition(b.topic, b.partition): b.next_offset for b in consumer.poll(100, in_s(1))}
    consumer.close(in_s(60))

    other = clients.admin().group_offsets(unique, in_s(60))
    assert other == {TopicPartition(topic, 0): 10, TopicPartition(topic, 1): 10}


def test_what_a_callback_raises_is_raised_by_poll(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    consumer = clients.consumer(unique)

    def fail(_):
        raise ConnectError("cannot open the target")

    consumer.subscribe([topic], fail, ignore, ignore)

    def poll_for_a_while():
        deadline = in_s(60)
        while not deadline.expired:
            consumer.poll(100, in_s(1))

    with pytest.raises(ConnectError, match="cannot open the target"):
        poll_for_a_while()


def test_a_seek_inside_on_assigned_beats_the_committed_offset(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"%d" % i for i in range(10)])
    consumer = clients.consumer(unique)
    consumer.subscribe([topic], lambda tps: [consumer.seek(tp, 7) for tp in tps], ignore, ignore)

    got = []
    deadline = in_s(60)
    while len(got) < 3 and not deadline.expired:
        got += [v for b in consumer.poll(100, in_s(1)) for v in b.values.to_pylist()]

    assert got == [b"7", b"8", b"9"]


@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_a_seek_reads_again(clients, topic_name, unique, path):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"%d" % i for i in range(10)])
    member = Member(clients.consumer(unique, path=path), [topic])
    member.until(lambda: len(member.values) == 10)

    member.consumer.seek(TopicPartition(topic, 0), 8)
    member.until(lambda: len(member.values) == 12)

    assert member.values[10:] == [b"8", b"9"]


@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_paused_partitions_give_nothing_and_nothing_is_lost(clients, topic_name, unique, path):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"%d" % i for i in range(1000)])
    member = Member(clients.consumer(unique, path=path), [topic])
    member.until(lambda: len(member.values) > 0)
    (tp,) = tps(topic, 0)
    member.poll(0.5, max_records=100)

    member.consumer.pause([tp])
    seen = len(member.values)
    for _ in range(5):
        member.poll(0.2)
        assert member.consumer.poll(0, in_s(0)) == []
    assert len(member.values) == seen
    member.consumer.resume([tp])
    member.until(lambda: len(member.values) == 1000)

    assert member.values == [b"%d" % i for i in range(1000)]


def test_who_does_not_poll_is_put_out_and_told_so_and_who_is_paused_and_polls_is_not(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"x"])
    silent, paused = (Member(clients.consumer(f"{unique}-{i}", max_poll_interval_ms="6000"), [topic]) for i in range(2))
    for member in (silent, paused):
        member.until(lambda member=member: member.values)
    owned = silent.consumer.assignment()
    paused.consumer.pause(paused.consumer.assignment())

    deadline = in_s(9)
    while deadline.wait(0.2):
        paused.consumer.poll(0, in_s(0))

    assert [what for what, _ in paused.events] == ["assigned"]
    with pytest.raises(ConnectError, match=re.escape("max.poll.interval.ms")):
        silent.until(lambda: False)
    assert ("lost", sorted(owned)) in silent.events


def test_a_pattern_finds_topics_that_are_made_later(clients, unique):
    first = clients.topic(f"{unique}-orders-1")
    clients.topic(f"{unique}-other")
    consumer = clients.consumer(unique, metadata_max_age_ms="1000")
    member = Member(consumer, rf"\Q{unique}\E-(?:orders-\p{{Digit}}+)")
    member.until(consumer.assignment)
    assert {tp.topic for tp in consumer.assignment()} == {first}

    second = clients.topic(f"{unique}-orders-22")
    member.until(lambda: {tp.topic for tp in consumer.assignment()} == {first, second})


def test_offsets_beyond_the_log_are_an_error_where_the_reset_is_none(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    send(clients, topic, [b"x"] * 3)
    consumer = clients.consumer(unique, auto_offset_reset="none")
    consumer.subscribe([topic], lambda tps: [consumer.seek(tp, 900) for tp in tps], ignore, ignore)

    def poll_for_a_while():
        deadline = in_s(60)
        while not deadline.expired:
            consumer.poll(100, in_s(1))

    with pytest.raises(ConnectError, match="not in the log") as caught:
        poll_for_a_while()
    assert caught.value.key == "consumer.override.auto.offset.reset"


def test_rows_that_come_while_partitions_are_paused_are_behind_what_was_committed(clients, topic_name):
    topic = clients.topic(topic_name, 2)
    first, second = tps(topic, 0, 1)
    send(clients, topic, [b"1", b"2"], partition=0)
    former = Member(clients.consumer(topic), [topic])
    former.until(lambda: len(former.values) == 2)
    former.consumer.commit({first: 2}, in_s(60))
    former.consumer.close(in_s(60))

    member = Member(clients.consumer(topic), [topic])
    member.until(lambda: member.consumer.assignment() == {first, second})
    member.consumer.pause([first, second])
    send(clients, topic, [b"3"] * 5, partition=0)
    send(clients, topic, [b"4"] * 7, partition=1)

    member.until(lambda: member.consumer.end_offsets() == {first: 7, second: 7})
    assert member.consumer.position([first, second]) == {first: 2, second: 0}
    assert member.values == []
