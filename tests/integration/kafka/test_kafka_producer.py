import threading

import pyarrow as pa
import pytest
from kafka_drive import in_s, read_values

from connect import native
from connect.api.errors import ConnectError
from connect.kafka.client.errors import FencedError, PartlySentError
from connect.kafka.raw import RawBatch, SharedHeaders
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.usefixtures("kafka")


@pytest.fixture(params=["columnar", "columnar, copying", "plain"])
def path(request, monkeypatch):
    """How rows get into librdkafka: by native code, by NumPy, or one by one."""
    name, _, copying = request.param.partition(", ")
    if copying:
        monkeypatch.setattr(native, "module", lambda: None)
    return name


def test_records_come_back_as_they_were_sent(clients, topic_name, path):
    topic = clients.topic(topic_name)
    sent = RawBatch(
        topic,
        values=pa.array([b"v", None, b"", "😀 ключ".encode(), b"\x00\xff" * 50_000], pa.binary()),
        keys=pa.array([b"k", b"k2", b"", None, "鍵".encode()], pa.binary()),
        headers=[[("h", b"1"), ("h", b"2")], [], [("none", None), ("empty", b"")], [("schlüssel", b"\x00")], []],
        timestamps_ms=pa.array([1, 1_700_000_000_000, 2, 3, 1_750_000_000_000], pa.int64()),
    )
    producer = clients.producer(path=path)

    producer.send(sent, in_s(60))
    producer.flush(in_s(60))

    (got,) = clients.read(topic, 5)
    assert got.values.equals(sent.values)
    assert got.keys.equals(sent.keys)
    assert [list(h) for h in got.headers] == [list(h) for h in sent.headers]
    assert got.timestamps_ms.equals(sent.timestamps_ms)
    assert got.offsets.to_pylist() == [0, 1, 2, 3, 4]
    assert (got.partition, got.next_offset) == (0, 5)


def test_headers_that_all_records_share_are_on_each_of_them(clients, topic_name, path):
    topic = clients.topic(topic_name)
    shared = SharedHeaders((("h", b"1"), ("none", None), ("empty", b""), ("schlüssel", b"\x00")), 2_000)
    values = pa.array([f"{row}".encode() * (row % 7) for row in range(1_999)] + [None], pa.binary())
    keys = pa.array([None] + [b"key"] * 1_999, pa.binary())
    producer = clients.producer(path=path)

    producer.send(RawBatch(topic, values, keys, shared), in_s(60))
    producer.flush(in_s(60))

    found = [row for got in clients.read(topic, 2_000) for row in rows_of(got)]
    assert found == rows_of(RawBatch(topic, values, keys, shared))


@pytest.mark.parametrize("weaker", [
    {"acks": "1"}, {"acks": "0"}, {"retries": "0"}, {"max.in.flight.requests.per.connection": "9"},
])  # fmt: skip
def test_a_producer_of_javas_that_waits_for_less_writes_its_rows_in_order(clients, topic_name, weaker):
    topic = clients.topic(topic_name)
    sent = pa.array([f"{row}".encode() for row in range(2_000)], pa.binary())
    producer = clients.producer(**weaker)

    producer.send(RawBatch(topic, values=sent), in_s(60))
    producer.flush(in_s(60))

    assert read_values(clients, topic, 2_000) == sent.to_pylist()


def rows_of(batch):
    headers = map(tuple, batch.headers)
    return list(zip(batch.keys.to_pylist(), batch.values.to_pylist(), headers, strict=True))


def test_a_record_of_the_first_millisecond_of_1970_is_not_one_of_now(clients, topic_name, path):
    """librdkafka takes a timestamp of 0 for none; the nearest that it can write is 1."""
    topic = clients.topic(topic_name)
    producer = clients.producer(path=path)

    producer.send(
        RawBatch(
            topic, values=pa.array([b"a", b"b", b"c"], pa.binary()), timestamps_ms=pa.array([0, 1, None], pa.int64())
        ),
        in_s(60),
    )
    producer.flush(in_s(60))

    (got,) = clients.read(topic, 3)
    first, second, now = got.timestamps_ms.to_pylist()
    assert (first, second) == (1, 1)
    assert now > 1_700_000_000_000


def test_records_without_keys_and_headers_have_none_when_read(clients, topic_name, values, path):
    topic = clients.topic(topic_name)
    producer = clients.producer(path=path)

    producer.send(values(topic, [b"1", b"2"]), in_s(60))
    producer.flush(in_s(60))

    (got,) = clients.read(topic, 2)
    assert got.keys is None
    assert got.headers is None
    assert all(ms > 1_700_000_000_000 for ms in got.timestamps_ms.to_pylist())


def test_slices_of_a_column_are_sent_as_they_are(clients, topic_name, path):
    topic = clients.topic(topic_name)
    rows = [None if i % 7 == 0 else b"value-%d" % i for i in range(1000)]
    keys = [None if i % 5 == 0 else b"key-%d" % i for i in range(1000)]
    whole = RawBatch(topic, pa.array(rows, pa.binary()), pa.array(keys, pa.binary()))
    producer = clients.producer(path=path)

    producer.send(whole.slice(13, 977), in_s(60))
    producer.flush(in_s(60))

    got = clients.read(topic, 964)
    assert [v for b in got for v in b.values.to_pylist()] == rows[13:977]
    assert [k for b in got for k in b.keys.to_pylist()] == keys[13:977]


def test_large_columns_are_sent_as_they_are(clients, topic_name, path):
    topic = clients.topic(topic_name)
    rows = [b"large-%d" % i for i in range(100)]
    batch = RawBatch(topic, pa.array(rows, pa.large_binary()), pa.array([f"k{i}" for i in range(100)], pa.utf8()))
    producer = clients.producer(path=path)

    producer.send(batch, in_s(60))
    producer.flush(in_s(60))

    assert read_values(clients, topic, 100) == rows


# The hash of Kafka's Java client (org.apache.kafka.common.utils.Utils.murmur2, 4.1.0) modulo 7 and 12.
JAVA_PARTITIONS = {
    "a": (5, 4), "21": (3, 0), "foobar": (0, 6), "abc": (4, 3), "a-little-bit-long-string": (1, 8),
    '{"id":1}': (3, 0), "ключ": (4, 8), "鍵": (0, 0), "😀": (0, 9), "k-000123": (0, 11), "": (2, 9),
}  # fmt: skip


@pytest.mark.parametrize(("place", "partitions"), [(0, 7), (1, 12)])
def test_keys_go_to_the_partitions_that_java_gives_them(clients, topic_name, path, place, partitions):
    topic = clients.topic(topic_name, partitions)
    keys = [key.encode() for key in JAVA_PARTITIONS]
    producer = clients.producer(path=path)

    producer.send(RawBatch(topic, pa.array(keys, pa.binary()), pa.array(keys, pa.binary())), in_s(60))
    producer.flush(in_s(60))

    got = {v.decode(): b.partition for b in clients.read(topic, len(keys)) for v in b.values.to_pylist()}
    assert got == {key: places[place] for key, places in JAVA_PARTITIONS.items()}


def test_a_wanted_partition_is_kept(clients, topic_name, values, path):
    topic = clients.topic(topic_name, 3)
    producer = clients.producer(path=path)

    producer.send(values(topic, [b"x"] * 10, partition=2), in_s(60))
    producer.flush(in_s(60))

    assert {b.partition for b in clients.read(topic, 10)} == {2}


def test_a_full_queue_is_waited_for(clients, topic_name, values, path):
    topic = clients.topic(topic_name)
    rows = [b"%d" % i for i in range(20_000)]
    producer = clients.producer(path=path, queue_buffering_max_messages="1000")

    producer.send(values(topic, rows), in_s(60))
    assert producer.outstanding <= 1000
    producer.flush(in_s(60))

    assert producer.outstanding == 0
    assert read_values(clients, topic, 20_000) == rows


def test_a_retry_after_a_full_queue_neither_loses_nor_repeats_rows(clients, topic_name, values, path):
    topic = clients.topic(topic_name)
    rows = [b"%d" % i for i in range(1500)]
    batch = values(topic, rows)
    producer = clients.producer(path=path, queue_buffering_max_messages="1000", linger_ms="2000")

    with pytest.raises(PartlySentError, match="1000 of 1500 rows") as caught:
        producer.send(batch, in_s(0.1))
    assert caught.value.sent == 1000
    producer.send(batch, in_s(60))
    producer.flush(in_s(60))

    assert read_values(clients, topic, 1500) == rows


def test_stop_ends_the_wait_for_a_full_queue(clients, topic_name, values, path):
    topic = clients.topic(topic_name)
    producer = clients.producer(path=path, queue_buffering_max_messages="10", linger_ms="5000")
    stop = threading.Event()
    deadline = Deadline.after(60, stop)
    threading.Timer(0.3, stop.set).start()

    with pytest.raises(PartlySentError):
        producer.send(values(topic, [b"x"] * 100), deadline)


def test_a_record_that_is_too_large_for_the_producer_names_topic_size_and_key(clients, topic_name, values, path):
    topic = clients.topic(topic_name)
    producer = clients.producer(path=path, max_request_size="1000")

    with pytest.raises(ConnectError, match=rf"topic {topic} .*2000 bytes.*max\.message\.bytes") as caught:
        producer.send(values(topic, [b"small", b"x" * 2000]), in_s(60))
    assert caught.value.key == "producer.override.max.request.size"


def test_a_record_that_is_too_large_for_the_topic_is_reported_by_check(clients, topic_name, values, path):
    topic = clients.topic(topic_name, max_message_bytes="1000")
    producer = clients.producer(path=path)
    producer.send(values(topic, [b"x" * 2000]), in_s(60))

    with pytest.raises(ConnectError, match=rf"topic {topic} .*2000 bytes.*max\.message\.bytes"):
        producer.flush(in_s(60))
    with pytest.raises(ConnectError):
        producer.check()


def test_a_partition_that_does_not_exist_is_an_error(clients, topic_name, values, path):
    topic = clients.topic(topic_name, 2)
    producer = clients.producer(path=path)

    producer.send(values(topic, [b"x"], partition=0), in_s(60))
    producer.flush(in_s(60))

    def write_to_partition_9() -> None:
        producer.send(values(topic, [b"x"], partition=9), in_s(60))
        producer.flush(in_s(60))

    with pytest.raises(ConnectError, match=topic):
        write_to_partition_9()


def test_purge_drops_what_is_queued_and_close_returns_at_once(clients, topic_name, values, path):
    topic = clients.topic(topic_name)
    producer = clients.producer(path=path, linger_ms="60000")
    producer.send(values(topic, [b"x"] * 100), in_s(60))

    producer.purge()

    assert producer.outstanding == 0
    producer.close(10)
    producer.close(10)


def test_a_committed_transaction_is_read_whole_and_an_aborted_one_not(clients, topic_name, values, path, unique):
    topic = clients.topic(topic_name)
    producer = clients.producer(transactional_id=unique, path=path)
    producer.init_transactions(in_s(60))

    for rows, ends in (([b"a1", b"a2"], producer.abort), ([b"c1", b"c2"], producer.commit), ([b"a3"], producer.abort)):
        producer.begin()
        producer.send(values(topic, rows), in_s(60))
        ends(in_s(60))

    (got,) = clients.read(topic, 2)
    assert got.values.to_pylist() == [b"c1", b"c2"]


def test_an_abort_right_after_sending_leaves_the_producer_well(clients, topic_name, values, path, unique):
    """The broker may not know of the partition yet: it is still ending the transaction before."""
    topic = clients.topic(topic_name)
    producer = clients.producer(transactional_id=unique, path=path)
    producer.init_transactions(in_s(60))

    for round_ in range(5):
        for ends in (producer.abort, producer.commit, producer.abort, producer.abort):
            producer.begin()
            producer.send(values(topic, [b"%s-%d" % (ends.__name__.encode(), round_)]), in_s(60))
            ends(in_s(60))
        producer.begin()
        producer.abort(in_s(60))

    assert read_values(clients, topic, 5) == [b"commit-%d" % round_ for round_ in range(5)]


def test_a_transaction_that_is_open_when_its_producer_is_closed_keeps_no_reader_waiting(
    clients, topic_name, values, path, unique
):
    topic = clients.topic(topic_name)
    left = clients.producer(transactional_id=unique, path=path)
    left.init_transactions(in_s(60))
    left.begin()
    left.send(values(topic, [b"never"]), in_s(60))
    left.flush(in_s(60))
    left.close()
    other = clients.producer(path=path)
    other.send(values(topic, [b"behind it"]), in_s(60))
    other.flush(in_s(60))

    (got,) = clients.read(topic, 1, timeout_s=20)
    assert got.values.to_pylist() == [b"behind it"]


def test_a_second_producer_of_the_same_transactional_id_fences_the_first(clients, topic_name, values, path, unique):
    topic = clients.topic(topic_name)
    first = clients.producer(transactional_id=unique, path=path)
    first.init_transactions(in_s(60))
    first.begin()
    first.send(values(topic, [b"old"]), in_s(60))
    first.flush(in_s(60))
    second = clients.producer(transactional_id=unique, path=path)
    second.init_transactions(in_s(60))

    with pytest.raises(FencedError):
        first.commit(in_s(60))
    with pytest.raises(FencedError):
        first.check()

    second.begin()
    second.send(values(topic, [b"new"]), in_s(60))
    second.commit(in_s(60))
    assert read_values(clients, topic, 1) == [b"new"]
