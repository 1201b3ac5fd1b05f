"""Provides clients of the shared broker, closed at the end of each test, and a broker that a test may stop."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pyarrow as pa
import pytest
from kafka_clients import Clients
from kafka_drive import Table, in_s

from connect.kafka.client.settings import consumer_settings, producer_settings
from connect.kafka.log.kv_log import KeyValueLog
from connect.kafka.raw import RawBatch
from connect.tools.services import KafkaEndpoint, KafkaService


@pytest.fixture
def clients(kafka: KafkaEndpoint) -> Iterator[Clients]:
    with ExitStack() as stack:
        yield Clients(kafka, stack)


@pytest.fixture(scope="module")
def killable_kafka() -> Iterator[KafkaService]:
    """Yield a broker that only these tests use."""
    with KafkaService() as service:
        yield service


@pytest.fixture
def own_kafka(killable_kafka: KafkaService) -> KafkaService:
    """Return a broker that a test may kill; it runs now."""
    killable_kafka.start()
    return killable_kafka


@pytest.fixture
def own_clients(own_kafka: KafkaService) -> Iterator[Clients]:
    """Yield clients of the broker that the test may kill."""
    with ExitStack() as stack:
        yield Clients(own_kafka.endpoint, stack)


@pytest.fixture
def values() -> Callable[..., RawBatch]:
    """Return a function that makes a batch from a topic and plain values."""

    def build(topic: str, rows: list[bytes | None], **more: object) -> RawBatch:
        return RawBatch(topic, pa.array(rows, pa.binary()), **more)  # type: ignore[arg-type]

    return build


@pytest.fixture
def open_log(request):
    logs = []

    def build(clients, topic, *, transactional_id=None, on_error=None, take=None, isolation="read_committed"):
        table = Table()
        writer = producer_settings(clients.worker, {}, client_id="kv").properties
        fenced = producer_settings(clients.worker, {}, client_id="kv-leader", transactional_id=transactional_id)
        log = KeyValueLog(
            topic,
            consumer_settings(clients.worker, {}, client_id="kv", isolation=isolation).properties,
            writer,
            on_record=take or table.take,
            on_error=on_error,
            transactional=fenced.properties if transactional_id else None,
        )
        logs.append(log)
        log.start(in_s(60))
        return log, table

    yield build
    for log in logs:
        log.close()
