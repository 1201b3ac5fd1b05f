"""Makes clients with the settings that a worker would give them; they are closed at the end of each test."""

from contextlib import ExitStack

from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.tools.services import KafkaEndpoint


class Clients:
    """Makes clients with the settings that a worker would give them."""

    def __init__(self, endpoint: KafkaEndpoint, stack: ExitStack) -> None:
        self.worker = {"bootstrap.servers": endpoint.bootstrap_servers}
        self._stack = stack

    def admin(self) -> TopicAdmin:
        return TopicAdmin(admin_settings(self.worker, {}, "test-admin").properties)

    def topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        self.admin().create(name, partitions=partitions, configs=dotted, deadline=Deadline.after(60))
        return name

    def producer(self, transactional_id: str | None = None, **overrides: str) -> BatchProducer:
        dotted = {key.replace("_", "."): value for key, value in overrides.items()}
        settings = producer_settings(self.worker, dotted, client_id="test", transactional_id=transactional_id)
        producer = BatchProducer(settings.properties)
        self._stack.callback(producer.close)
        return producer

    def consumer(self, group: str, **overrides: str) -> BatchConsumer:
        dotted = {"session.timeout.ms": "6000", **{k.replace("_", "."): v for k, v in overrides.items()}}
        settings = consumer_settings(self.worker, dotted, client_id="test", group_id=group, keeps_duration=True)
        consumer = BatchConsumer(settings.properties)
        self._stack.callback(lambda: consumer.close(Deadline.after(60)))
        return consumer

    def read(self, topic: str, count: int, timeout_s: float = 60, **overrides: str) -> list[RawBatch]:
        """Return all records of a topic once there are `count`, and what one more short poll gives."""
        consumer = self.consumer(f"read-{topic}", **overrides)
        consumer.subscribe([topic], lambda _: None, lambda _: None, lambda _: None)
        batches: list[RawBatch] = []
        deadline = Deadline.after(timeout_s)
        while sum(map(len, batches)) < count and not deadline.expired:
            batches += consumer.poll(100_000, deadline)
        batches += consumer.poll(100_000, Deadline.after(0.5))
        consumer.close(Deadline.after(60))
        return batches
