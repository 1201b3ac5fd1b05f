"""Rows on their way through librdkafka, here with its own mock brokers, which take a given time to answer."""

import gc
import threading
import time

import pyarrow as pa
import pytest

from connect import native
from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch

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


def wait_until(condition, timeout_s):
    end_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end_s
        threading.Event().wait(0.002)


@pytest.mark.usefixtures("code")
@pytest.mark.parametrize("linger_ms", [0, 20])
def test_a_row_leaves_after_linger_ms_although_nobody_asks_for_it(make_producer, linger_ms):
    producer = make_producer(linger_ms=linger_ms)
    for _ in range(3):
        producer.send(rows(1), Deadline.after(10))
        wait_until(lambda: producer.check() is None and producer.outstanding == 0, 3.0)


@needs_native
def test_a_flush_does_not_wait_for_linger_ms(make_producer):
    producer = make_producer(linger_ms=4000)
    producer.send(rows(1), Deadline.after(10))
    began_s = time.monotonic()
    producer.flush(Deadline.after(10))
    assert time.monotonic() - began_s < 3


@needs_native
def test_waiting_for_slow_brokers_takes_no_cpu_time(make_producer):
    producer = make_producer(linger_ms=5, batch_size=100_000, test_mock_broker_rtt=200)
    producer.send(rows(4000), Deadline.after(10))
    wait_until(lambda: producer.outstanding < 4000, 10.0)
    cpu_s = time.process_time()
    with pytest.raises(RetriableError):
        producer.flush(Deadline.after(1.0))
    assert 0 < producer.outstanding < 4000
    assert time.process_time() - cpu_s < 0.4


@needs_native
def test_rows_are_kept_until_they_are_acknowledged_and_no_longer(make_producer):
    producer = make_producer(linger_ms=0, test_mock_broker_rtt=100)
    before = pa.total_allocated_bytes()
    batch = rows(2000)
    producer.send(batch, Deadline.after(10))
    del batch
    gc.collect()
    assert pa.total_allocated_bytes() - before > 1_500_000
    producer.flush(Deadline.after(10))
    producer.check()
    assert pa.total_allocated_bytes() - before < 100_000


@needs_native
def test_a_closed_producer_lets_go_of_rows_that_were_never_sent(make_producer):
    producer = make_producer(linger_ms=60_000)
    before = pa.total_allocated_bytes()
    producer.send(rows(500), Deadline.after(10))
    producer.close()
    assert pa.total_allocated_bytes() - before < 100_000


@pytest.mark.usefixtures("code")
def test_a_queue_that_is_full_takes_the_rest_later(make_producer):
    producer = make_producer(linger_ms=5, queue_buffering_max_messages=100, test_mock_broker_rtt=10)
    batch = rows(1000)
    producer.send(batch, Deadline.after(30))
    producer.flush(Deadline.after(30))
    assert producer.outstanding == 0
