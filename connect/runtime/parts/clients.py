"""What the tasks of one host share, and how each gets its Kafka clients from worker and connector settings."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from connect.api.codec import HeaderConverter
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.kafka.admin.topics import InternalTopic, TopicAdmin
from connect.kafka.client.settings import (
    ClientSettings,
    admin_part,
    admin_settings,
    consumer_settings,
    producer_settings,
    shares_client,
)
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.log_reader import read_record
from connect.kafka.produce.pooled_producer import PooledProducer, ProducerPool, RowProducer
from connect.kafka.produce.producer import BatchProducer
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.records.dead_letter import DeadLetters
from connect.runtime.records.pipeline import Converters
from connect.runtime.records.record_sizes import RecordSizes
from connect.runtime.records.source_letters import SourceDeadLetters
from connect.runtime.settings.config_providers import ConfigProviders, config_providers
from connect.runtime.settings.config_secrets import secret_texts
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.internal_topics import Holds
from connect.runtime.settings.loop_limits import flush_timeout_s
from connect.runtime.settings.topic_groups import topic_groups
from connect.runtime.settings.topic_look import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.exactly_once import uses_transactions
from connect.runtime.source.offset_store import SourceOffsets
from connect.runtime.source.offset_topics import OpenOffsets, connectors_topic, own_topic, state_topic, without_group
from connect.runtime.task.messages import TaskId
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.topics.dead_letter_topic import make_dead_letter_topic
from connect.runtime.topics.source_topics import KafkaTopics, Refuse
from connect.runtime.topics.topic_creation import BrokersTopics, CreatedTopics, Topics
from connect.telemetry.secret_texts import SECRET_TEXTS
from connect.telemetry.tracing import is_switched_on, tracer_provider

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger(__name__)

TRANSACTION_TIMEOUT_S: Final = 60.0
TRANSACTION_TIMEOUT_MAX_MS: Final = 900_000
"""The brokers' default transaction.max.timeout.ms."""
_TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
SEND_SPANS_MS: Final = 1000


class Clients:
    """Owned by the host; its methods are called from task threads, what they return is owned by the caller."""

    def __init__(self, worker: WorkerConfig, catalog: Catalog) -> None:
        self.worker = worker
        self.catalog = catalog
        self._offsets: OpenOffsets | None = None
        self._opening = threading.Lock()  # tasks begin on their own threads
        self._pool = ProducerPool()

    def offsets(self, deadline: Deadline) -> OpenOffsets:
        """The worker's offsets topic, begun to be read with the first call. RetriableError: no broker answers in time.

        A source task waits for its end after it fenced its former owner.
        """
        with self._opening:
            if self._offsets is None:
                self._offsets = self._open_offsets(deadline)
            return self._offsets

    def _open_offsets(self, deadline: Deadline) -> OpenOffsets:
        client_id = f"{self.worker.client_prefix}-offsets-{os.getpid()}"
        producer = self._pool.take(producer_settings(self.worker_properties, {}, client_id=self._shared_id).properties)
        offsets = OpenOffsets(
            self.worker.offset_storage_topic,
            consumer_settings(self.worker_properties, {}, client_id=client_id).properties,
            producer,
            level=logging.DEBUG,  # the worker warns of it, once for all its hosts
        )
        try:
            offsets.begin(deadline)
        except ConnectError:
            offsets.close()
            self._pool.give_back(producer)
            raise
        return offsets

    def close(self) -> None:
        """Release the offsets topic, and send the spans that are left."""
        if self._tracing is not None:
            self._tracing.shutdown()
        if self._offsets is not None:
            self._offsets.close()

    def figures(self, task: TaskId, on_stage: Callable[[str], None] | None) -> TaskFigures:
        """What a task counts, and traces where tracing is on. ConfigError: its packages are not installed."""
        if self._tracing is None:
            return TaskFigures(on_stage)
        from connect.runtime.task.traced_metrics import TracedFigures

        attributes = {"connect.connector": task.connector, "connect.task": str(task.task)}
        return TracedFigures(on_stage, self._tracing.get_tracer("connect"), attributes)

    @cached_property
    def _tracing(self) -> TracerProvider | None:
        if not is_switched_on(self.worker.tracing_enabled):
            return None
        return tracer_provider(f"connect-{self.worker.group_id}")

    @property
    def worker_properties(self) -> Mapping[str, str]:
        """The worker's settings as given. May hold secrets."""
        return self.worker.originals

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """The configuration with the placeholders of config providers replaced. The result may hold secrets."""
        return self.providers.resolve(config)

    def resolve_secretly(self, config: Mapping[str, str]) -> dict[str, str]:
        """As `resolve`, of a whole connector configuration: from then on its secrets are in no log, trace or letter."""
        # What cannot be resolved has secrets, too.
        SECRET_TEXTS.add(secret_texts(self.catalog, config))
        resolved = self.resolve(config)
        SECRET_TEXTS.add(secret_texts(self.catalog, resolved))
        return resolved

    @cached_property
    def providers(self) -> ConfigProviders:
        """The config providers of the worker's settings. ConfigError when one of them is set wrongly."""
        return config_providers(self.worker_properties, self.catalog)

    def exactly_once(self, config: SourceConnectorConfig) -> bool:
        """Rows and offsets go in one transaction. ConfigError: they must, and the worker does not allow it."""
        in_transactions = uses_transactions(self.worker, config.originals)
        if in_transactions and self.worker.exactly_once_source_support.lower() != "enabled":
            raise ConfigError(
                "exactly.once.support=required needs exactly.once.source.support=enabled on the worker.",
                key="exactly.once.support",
                fix="Set it in the worker's configuration, or use exactly.once.support=requested.",
            )
        return in_transactions

    def source_offsets(
        self, connector: str, label: str, config: SourceConnectorConfig, stack: ExitStack, deadline: Deadline
    ) -> SourceOffsets:
        """Where the offsets of a source are, read to the end; closed by `stack`. `label` names its clients.

        An offsets topic of its own is made when it is missing. ConfigError: it is there and not compacted.
        """
        workers = self.offsets(deadline).store
        transactional = self.exactly_once(config)
        topic = own_topic(self.worker, config, transactional=transactional)
        if topic is None:
            offsets = SourceOffsets(connector, workers)
        else:
            own = self._own_offsets(topic, label, config, transactional=transactional, deadline=deadline)
            stack.callback(own.close)
            own.begin(deadline)
            offsets = SourceOffsets(connector, own.store, workers)
        offsets.read_to_end(deadline)
        return offsets

    def _own_offsets(
        self, topic: str, label: str, config: SourceConnectorConfig, *, transactional: bool, deadline: Deadline
    ) -> OpenOffsets:
        worker = self.worker_properties
        client_id = f"connector-offsets-{label}"
        reserved = reserved_topics(self.worker, config.originals)
        reserved.require_free(topic, "offsets.storage.topic", but={Holds.OFFSETS})
        admin = TopicAdmin(admin_settings(worker, config.with_prefix("admin.override."), client_id).properties)
        admin.ensure_internal([connectors_topic(self.worker, topic)], deadline)
        consumer = without_group(config.with_prefix("consumer.override."))
        producer = producer_settings(worker, config.with_prefix("producer.override."), client_id=client_id)
        return OpenOffsets(
            topic,
            consumer_settings(worker, consumer, client_id=client_id).properties,
            None if transactional else producer.properties,
        )

    def transactional_producer(self, task: TaskId, config: Mapping[str, str], open_s: float = 0.0) -> BatchProducer:
        """A producer for an exactly-once source; its id is Kafka Connect's `<group.id>-<connector>-<task>`.

        `open_s`: how long a transaction stays open before it is committed. Brokers are told to wait longer, unless
        somebody has set how long: at 60 s, transactions of an interval of 60 s would be aborted now and then.
        """
        overrides = _prefixed(config, "producer.override.")
        if open_s and not {_TRANSACTION_TIMEOUT, f"producer.{_TRANSACTION_TIMEOUT}"} & {
            *overrides,
            *self.worker_properties,
        }:
            wanted_ms = int((open_s + TRANSACTION_TIMEOUT_S) * 1000)
            overrides[_TRANSACTION_TIMEOUT] = str(min(wanted_ms, TRANSACTION_TIMEOUT_MAX_MS))
        settings = producer_settings(
            self.worker_properties,
            overrides,
            client_id=f"connector-producer-{task}",
            transactional_id=f"{self.worker.group_id}-{task}",
        )
        return BatchProducer(_known(settings, task))

    def producer(self, task: TaskId, config: Mapping[str, str], client_id: str) -> RowProducer:
        """A producer for rows, or dead letters, of a task; it shares a client as long as it sends little."""
        overrides = _prefixed(config, "producer.override.")
        alone = _known(producer_settings(self.worker_properties, overrides, client_id=client_id), task)
        if not shares_client(self.worker_properties, overrides):
            producer = BatchProducer(alone)
            producer.prepare()
            return producer
        shared = producer_settings(self.worker_properties, overrides, client_id=self._shared_id)
        return PooledProducer(self._pool, shared.properties, alone)

    @property
    def _shared_id(self) -> str:
        return f"{self.worker.client_prefix}-shared-producer-{os.getpid()}"

    def source_topics(self, task: TaskId, config: SourceConnectorConfig) -> Topics:
        """Who makes the missing topics of a source task. ConfigError: its `topic.creation.*` are broken."""
        groups = topic_groups(config) if self.worker.topic_creation_enable else ()
        if not groups:
            return BrokersTopics()
        settings = admin_settings(
            self.worker_properties, config.with_prefix("admin.override."), f"connector-adminclient-{task}"
        )
        return CreatedTopics(groups, lambda: TopicAdmin(_known(settings, task)), str(task))

    def sink_consumer(self, task: TaskId, config: Mapping[str, str]) -> BatchConsumer:
        """A consumer in the connector's group `connect-<name>`."""
        # A dead worker's partitions move as soon as its tasks do.
        session = {
            "consumer.session.timeout.ms": str(self.worker.session_timeout_ms),
            "consumer.heartbeat.interval.ms": str(self.worker.heartbeat_interval_ms),
        }
        settings = consumer_settings(
            {**session, **self.worker_properties},
            _prefixed(config, "consumer.override."),
            client_id=f"connector-consumer-{task}",
            group_id=f"connect-{task.connector}",
        )
        return BatchConsumer(_known(settings, task))

    def kafka_topics(
        self, task: TaskId, config: SourceConnectorConfig, converters: Converters, refuse: Refuse
    ) -> KafkaTopics:
        """Kafka's topics for a source that reads them."""
        worker = self.worker_properties
        reading = consumer_settings(
            worker,
            without_group(config.with_prefix("consumer.override.")),
            client_id=f"connector-consumer-{task}",
        )
        admin = admin_settings(worker, config.with_prefix("admin.override."), f"connector-adminclient-{task}")
        make = partial(self._memory_topic, config.originals) if self.exactly_once(config) else None
        return KafkaTopics(reading, admin, converters, refuse, make)

    def _memory_topic(self, connector: Mapping[str, str], name: str, partitions: int) -> InternalTopic:
        reserved_topics(self.worker, connector).require_free(name, "state.topic", but={Holds.MEMORY})
        return state_topic(self.worker, name, partitions)

    def topic_id(self, task: TaskId, config: Mapping[str, str], topic: str, deadline: Deadline) -> str | None:
        """The id of a topic that a sink reads, asked with its consumer's rights; None where it is refused."""
        settings = consumer_settings(
            self.worker_properties,
            _prefixed(config, "consumer.override."),
            client_id=f"connector-adminclient-{task}",
        )
        try:
            return TopicAdmin(admin_part(settings.properties)).topic_id(topic, deadline)
        except RetriableError:
            raise
        except ConnectError as error:
            log.info("%s: the id of topic %s is not known: %s", task, topic, error)
            return None

    def dead_letters(
        self, task: TaskId, config: SinkConnectorConfig, raw: Mapping[str, str], producer: RowProducer | None = None
    ) -> DeadLetters | None:
        """The writer of dead letters, its topic made; None where no dead-letter topic is set.

        `producer`: where letters go; None: into a producer of their own.
        """
        if not config.errors_dlq_topic:
            return None
        make_dead_letter_topic(self.worker, task, config, raw)
        reading = consumer_settings(
            self.worker_properties,
            without_group(_prefixed(raw, "consumer.override.")),
            client_id=f"connector-dlq-consumer-{task}",
        )
        return DeadLetters(
            producer or self.producer(task, raw, f"connector-dlq-producer-{task}"),
            config.errors_dlq_topic,
            task,
            context_headers=config.errors_dlq_headers,
            timeout_s=flush_timeout_s(self.worker),
            read_again=partial(read_record, reading.properties),
        )

    def source_letters(
        self,
        task: TaskId,
        config: SourceConnectorConfig,
        raw: Mapping[str, str],
        headers: HeaderConverter,
        sizes: RecordSizes,
    ) -> SourceDeadLetters | None:
        """The maker of a source's dead letters, their topic made; None where no dead-letter topic is set."""
        if not config.errors_dlq_topic:
            return None
        make_dead_letter_topic(self.worker, task, config, raw)
        return SourceDeadLetters(
            config.errors_dlq_topic, task, headers, context_headers=config.errors_dlq_headers, sizes=sizes
        )

    def record_sizes(self, task: TaskId, raw: Mapping[str, str]) -> RecordSizes:
        """What a source's producer takes, and how to ask for what a topic takes."""
        settings = producer_settings(self.worker_properties, _prefixed(raw, "producer.override."), client_id=str(task))
        admin = admin_settings(
            self.worker_properties, _prefixed(raw, "admin.override."), f"connector-adminclient-{task}"
        )

        def topic_limit(topic: str) -> str | None:
            try:
                return TopicAdmin(admin.properties).configs(topic, Deadline.after(5.0)).get("max.message.bytes")
            except ConnectError as error:
                log.info("%s: the limit of topic %s is not known: %s", task, topic, error)
                return None

        return RecordSizes(int(settings.properties["message.max.bytes"]), topic_limit)

    def send_spans(self) -> None:
        """Send what is traced so far: a host ends without notice."""
        if self._tracing is not None:
            self._tracing.force_flush(SEND_SPANS_MS)


def _prefixed(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {k.removeprefix(prefix): v for k, v in config.items() if k.startswith(prefix)}


def _known(settings: ClientSettings, task: TaskId) -> Mapping[str, str | int | float | bool]:
    if settings.unknown:
        log.info("%s: these client settings have no meaning here: %s", task, ", ".join(sorted(settings.unknown)))
    return settings.properties
