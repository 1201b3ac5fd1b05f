import threading

import pytest
from kafka_drive import in_s

from connect.api.errors import ConnectError
from connect.kafka.admin.topic_changes import TopicChanges
from connect.kafka.client.errors import FencedError
from connect.kafka.client.settings import consumer_settings
from connect.kafka.log.kv_log import KeyValueLog
from connect.runtime.source.offset_records import OffsetTable, encode_key


def test_each_reads_what_the_other_wrote(clients, topic_name, open_log):
    topic = clients.topic(topic_name, 3, cleanup_policy="compact")
    one, first = open_log(clients, topic)
    two, second = open_log(clients, topic)

    for i in range(50):
        (one if i % 2 else two).put(b"k%d" % i, b"v%d" % i).result(60)
    one.read_to_end(in_s(60))
    two.read_to_end(in_s(60))

    assert first.now == second.now == {b"k%d" % i: b"v%d" % i for i in range(50)}
    assert one.last_error is None


def test_a_new_reader_starts_at_the_beginning(clients, topic_name, open_log):
    topic = clients.topic(topic_name, cleanup_policy="compact")
    one, _ = open_log(clients, topic)
    one.put_all([(b"a", b"1"), (b"b", b"2"), (b"a", None), (b"c", b"")]).result(60)

    _, later = open_log(clients, topic)

    assert later.now == {b"b": b"2", b"c": b""}
    assert [(key, value, partition, offset) for key, value, partition, offset, _ in later.seen] == [
        (b"a", b"1", 0, 0),
        (b"b", b"2", 0, 1),
        (b"a", None, 0, 2),
        (b"c", b"", 0, 3),
    ]
    assert all(ms > 1_700_000_000_000 for *_, ms in later.seen)
    assert later.threads == {f"kv-log-{topic}"}


def test_reading_to_the_end_is_quick(clients, topic_name, open_log):
    topic = clients.topic(topic_name, 5, cleanup_policy="compact")
    log, table = open_log(clients, topic)

    started = in_s(60)
    for i in range(10):
        log.put(b"k", b"%d" % i).result(60)
        log.read_to_end(in_s(60))
        assert table.now == {b"k": b"%d" % i}

    assert started.remaining_s > 5


def test_who_has_written_reads_it_back(clients, topic_name, open_log):
    topic = clients.topic(topic_name, 5, cleanup_policy="compact")
    log, table = open_log(clients, topic)

    for i in range(20):
        log.put_all([(b"k%d" % n, b"%d" % i) for n in range(5)]).result(60)
        log.read_back(in_s(60))
        assert table.now == {b"k%d" % n: b"%d" % i for n in range(5)}


def test_transactions_are_read_whole_and_their_markers_are_no_obstacle(clients, topic_name, open_log, unique):
    topic = clients.topic(topic_name, cleanup_policy="compact")
    log, table = open_log(clients, topic, transactional_id=unique)
    log.claim(in_s(60))

    log.put_all([(b"a", b"1"), (b"b", b"2")], True).result(60)
    log.read_to_end(in_s(60))
    log.put_all([(b"a", None)], transactional=True).result(60)
    log.read_to_end(in_s(60))

    assert table.now == {b"b": b"2"}


def test_the_last_to_claim_writes_and_the_one_before_is_fenced(clients, topic_name, open_log, unique):
    topic = clients.topic(topic_name, cleanup_policy="compact")
    old, _ = open_log(clients, topic, transactional_id=unique)
    new, table = open_log(clients, topic, transactional_id=unique)
    old.claim(in_s(60))
    old.put_all([(b"k", b"old")], True).result(60)
    new.claim(in_s(60))

    with pytest.raises(FencedError):
        old.put_all([(b"k", b"stale")], True).result(60)
    with pytest.raises(FencedError, match="not claimed"):
        old.put_all([(b"k", b"stale")], True).result(60)
    new.put_all([(b"k", b"new")], True).result(60)
    new.read_to_end(in_s(60))
    assert table.now == {b"k": b"new"}

    old.claim(in_s(60))
    old.put_all([(b"k", b"again")], True).result(60)
    new.read_to_end(in_s(60))
    assert table.now == {b"k": b"again"}


def test_a_record_that_the_callback_refuses_is_told_and_the_log_goes_on(clients, topic_name, open_log):
    topic = clients.topic(topic_name, cleanup_policy="compact")
    errors, taken = [], []

    def take(key, value, *_):
        if value == b"bad":
            raise ValueError("not JSON")
        taken.append(key)

    log, _ = open_log(clients, topic, take=take, on_error=errors.append)
    log.put_all([(b"1", b"ok"), (b"2", b"bad"), (b"3", b"ok")]).result(60)
    log.read_to_end(in_s(60))

    assert taken == [b"1", b"3"]
    assert len(errors) == 1
    assert f"{topic}, partition 0, offset 1" in str(errors[0])
    assert "not JSON" in str(errors[0])


def test_a_topic_that_does_not_exist_is_named(clients, topic_name):
    reader = consumer_settings(clients.worker, {}, client_id="kv").properties
    log = KeyValueLog(topic_name, reader, on_record=lambda *_: None)

    with pytest.raises(ConnectError, match=f"looking up topic {topic_name}"):
        log.start(in_s(2))
    log.close()


def test_a_log_opened_for_reading_writes_nothing(clients, topic_name):
    topic = clients.topic(topic_name)
    reader = consumer_settings(clients.worker, {}, client_id="kv").properties
    log = KeyValueLog(topic, reader, on_record=lambda *_: None)

    with pytest.raises(ConnectError, match="reading only"):
        log.put(b"k", b"v")
    with pytest.raises(ConnectError, match=r"transactional\.id"):
        log.claim(in_s(1))


def test_closed_logs_leave_no_thread(clients, topic_name, open_log, unique):
    topic = clients.topic(topic_name)
    log, _ = open_log(clients, topic, transactional_id=unique)
    log.put(b"k", b"v").result(60)

    log.close()
    log.close()

    assert not [t.name for t in threading.enumerate() if topic in t.name]


def test_partitions_that_the_topic_is_given_later_are_read_too(clients, topic_name, open_log):
    """A key moves to another partition by that: whoever has read the topic before, or reads both, has its newest value.

    It is the offsets topic's table that is tried: a stale offset would have a source read again what is delivered.
    """
    topic = clients.topic(topic_name, 2, cleanup_policy="compact")
    numbers = range(40)

    def opened():
        table = OffsetTable()

        def take(key, value, partition, _offset, timestamp_ms):
            assert table.apply(key, value, partition=partition, timestamp_ms=timestamp_ms)

        return open_log(clients, topic, take=take)[0], table

    def write(log, run):
        values = [b'{"run":%d}' % run if n or run == 1 else None for n in numbers]
        log.put_all([(encode_key("c", {"t": n}), value) for n, value in zip(numbers, values, strict=True)]).result(60)

    def seen(table):
        return [table.get("c", {"t": n}) for n in numbers]

    one, first = opened()
    write(one, 1)
    TopicChanges(clients.worker).widen(topic, 7, in_s(60))
    other, _ = opened()
    write(other, 2)
    one.read_to_end(in_s(60))
    _, later = opened()
    assert seen(first) == seen(later) == [None, *[{"run": 2}] * 39]
    assert one.last_error is None
