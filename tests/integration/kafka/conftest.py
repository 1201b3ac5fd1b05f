"""Clients of the shared broker, closed at the end of each test; and a broker that a test may stop."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pyarrow as pa
import pytest
from kafka_drive import Table, in_s

from connect.api.deadline import Deadline
from connect.kafka.consumer import BatchConsumer
from connect.kafka.kv_log import KeyValueLog
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.kafka.settings import admin_settings, consumer_settings, producer_settings
from connect.kafka.topics import TopicAdmin
from connect.services import KafkaEndpoint, KafkaService


class Clients:
    """Builds clients with the settings a worker would give them."""

    def __init__(self, endpoint: KafkaEndpoint, stack: ExitStack) -> None:
        self.worker = {"bootstrap.servers": endpoint.bootstrap_servers}
        self._stack = stack

    def admin(self) -> TopicAdmin:
        return TopicAdmin(admin_settings(self.worker, {}, "test-admin").properties)

    def topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        self.admin().create(name, partitions=partitions, configs=dotted, deadline=Deadline.after(20))
        return name

    def producer(self, transactional_id: str | None = None, **overrides: str) -> BatchProducer:
        dotted = {key.replace("_", "."): value for key, value in overrides.items()}
        settings = producer_settings(self.worker, dotted, client_id="test", transactional_id=transactional_id)
        producer = BatchProducer(settings.properties)
        self._stack.callback(producer.close)
        return producer

    def consumer(self, group: str, **overrides: str) -> BatchConsumer:
        dotted = {"session.timeout.ms": "6000", **{k.replace("_", "."): v for k, v in overrides.items()}}
        settings = consumer_settings(self.worker, dotted, client_id="test", group_id=group)
        consumer = BatchConsumer(settings.properties)
        self._stack.callback(lambda: consumer.close(Deadline.after(5)))
        return consumer

    def read(self, topic: str, count: int, timeout_s: float = 20, **overrides: str) -> list[RawBatch]:
        """Everything of a topic until `count` records are there, plus what a last short poll gives."""
        consumer = self.consumer(f"read-{topic}", **overrides)
        consumer.subscribe([topic], lambda _: None, lambda _: None, lambda _: None)
        batches: list[RawBatch] = []
        deadline = Deadline.after(timeout_s)
        while sum(map(len, batches)) < count and not deadline.expired:
            batches += consumer.poll(100_000, deadline)
        batches += consumer.poll(100_000, Deadline.after(0.5))
        consumer.close(Deadline.after(5))
        return batches


@pytest.fixture
def clients(kafka: KafkaEndpoint) -> Iterator[Clients]:
    with ExitStack() as stack:
        yield Clients(kafka, stack)


@pytest.fixture(scope="module")
def killable_kafka() -> Iterator[KafkaService]:
    """A broker of these tests alone."""
    with KafkaService() as service:
        yield service


@pytest.fixture
def own_kafka(killable_kafka: KafkaService) -> KafkaService:
    """A broker that a test may kill, running."""
    killable_kafka.start()
    return killable_kafka


@pytest.fixture
def own_clients(own_kafka: KafkaService) -> Iterator[Clients]:
    """Clients of the test's own broker."""
    with ExitStack() as stack:
        yield Clients(own_kafka.endpoint, stack)


@pytest.fixture
def values() -> Callable[..., RawBatch]:
    """A builder of batches from a topic and plain values."""

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
        log.start(in_s(20))
        return log, table

    yield build
    for log in logs:
        log.close()
