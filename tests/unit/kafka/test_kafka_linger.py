"""Sends rows through librdkafka, here with its own mock brokers, which take a given time to answer."""

import gc
import time

import pyarrow as pa
import pytest

from connect import native
from connect.api.errors import RetriableError
from connect.kafka.produce import native_producer
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.thorough
MOCK = {"test.mock.num.brokers": 1, "acks": "all", "enable.idempotence": True, "partitioner": "murmur2_random"}


@pytest.fixture
def make_producer():
    made = []

    def make(**settings):
        dotted = {name.replace("_", "."): value for name, value in settings.items()}
        made.append(BatchProducer({**MOCK, **dotted}))
        return made[-1]

    yield make
    for producer in made:
        producer.close()


needs_native = pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)


@pytest.fixture(params=["native", "copying"])
def code(request, monkeypatch):
    if request.param == "copying":
        monkeypatch.setattr(native, "module", lambda: None)
    elif native.module() is None:
        pytest.skip("NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install")


def rows(count, size=1000):
    return RawBatch("topic", pa.array([b"x" * size] * count, pa.binary()))


def wait_until(condition):
    deadline = Deadline.after(60)
    while not condition():
        assert deadline.wait(0.002)


@pytest.mark.usefixtures("code")
@pytest.mark.parametrize("linger_ms", [0, 20])
def test_a_row_leaves_after_linger_ms_although_nobody_asks_for_it(make_producer, linger_ms, monkeypatch):
    monkeypatch.setattr(native_producer, "_LIBRARY_LINGER_MS", 120_000)
    producer = make_producer(linger_ms=linger_ms)
    for _ in range(3):
        producer.send(rows(1), Deadline.after(60))
        wait_until(lambda: producer.check() is None and producer.outstanding == 0)


@needs_native
def test_a_flush_does_not_wait_for_linger_ms(make_producer):
    producer = make_producer(linger_ms=120_000)
    producer.send(rows(1), Deadline.after(60))
    producer.flush(Deadline.after(60))


@pytest.mark.usefixtures("code")
@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_flush_says_how_many_rows_are_not_acknowledged(make_producer, path):
    producer = make_producer(producer_path=path, test_mock_broker_rtt=60_000)
    producer.send(rows(7), Deadline.after(60))
    with pytest.raises(RetriableError, match=r"^7 rows"):
        producer.flush(Deadline.after(0.2))
    assert producer.outstanding == 7


@needs_native
def test_waiting_for_slow_brokers_takes_no_cpu_time(make_producer):
    # 80 requests, one after the other: rows are acknowledged all the time, and for longer than the flush waits.
    one_by_one = {"batch_size": 100_000, "max_in_flight_requests_per_connection": 1, "test_mock_broker_rtt": 100}
    producer = make_producer(linger_ms=5, **one_by_one)
    producer.send(rows(8000), Deadline.after(60))
    wait_until(lambda: producer.outstanding < 8000)
    cpu_s = time.process_time()
    with pytest.raises(RetriableError):
        producer.flush(Deadline.after(1.0))
    assert 0 < producer.outstanding < 8000
    assert time.process_time() - cpu_s < 0.4


@needs_native
def test_rows_are_kept_until_they_are_acknowledged_and_no_longer(make_producer):
    producer = make_producer(linger_ms=120_000)
    before = pa.total_allocated_bytes()
    batch = rows(2000)
    producer.send(batch, Deadline.after(60))
    del batch
    gc.collect()
    assert pa.total_allocated_bytes() - before > 1_500_000
    producer.flush(Deadline.after(60))
    producer.check()
    assert pa.total_allocated_bytes() - before < 100_000


@needs_native
def test_a_closed_producer_lets_go_of_rows_that_were_never_sent(make_producer):
    producer = make_producer(linger_ms=60_000)
    before = pa.total_allocated_bytes()
    producer.send(rows(500), Deadline.after(60))
    producer.close()
    assert pa.total_allocated_bytes() - before < 100_000


@pytest.mark.usefixtures("code")
def test_a_queue_that_is_full_takes_the_rest_later(make_producer):
    producer = make_producer(linger_ms=5, queue_buffering_max_messages=100, test_mock_broker_rtt=10)
    batch = rows(1000)
    producer.send(batch, Deadline.after(60))
    producer.flush(Deadline.after(60))
    assert producer.outstanding == 0
