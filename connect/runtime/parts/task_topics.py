"""Makes what tasks read Kafka's topics by, and what creates the topics of sources."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.kafka.admin.topic_specs import InternalTopic
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_part, admin_settings, consumer_settings
from connect.kafka.client.shared import Shared
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.log_reader import Settings
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_overrides import known, overrides
from connect.runtime.records.pipeline import Converters
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.internal_topics import StateKind
from connect.runtime.settings.topic_groups import topic_groups
from connect.runtime.settings.topic_inspector import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.exactly_once import writes_in_transactions
from connect.runtime.source.offset_topics import state_topic, without_group
from connect.runtime.task.task_id import TaskId
from connect.runtime.topics.source_topics import KafkaTopics, Refuse
from connect.runtime.topics.topic_creation import BrokersTopics, CreatedTopics, Topics
from connect.runtime.topics.topic_records import KafkaTopicRecords

log = logging.getLogger(__name__)


class TaskTopics:
    """Makes consumers and admin clients for tasks, with the connector's overrides. Called from task threads."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker
        self._admins: Shared[TopicAdmin] = Shared()

    def sink_consumer(self, task: TaskId, config: Mapping[str, str]) -> BatchConsumer:
        """Return a consumer in the connector's group `connect-<name>`."""
        # A dead worker's partitions move as soon as its tasks do.
        session = {
            "consumer.session.timeout.ms": str(self._worker.session_timeout_ms),
            "consumer.heartbeat.interval.ms": str(self._worker.heartbeat_interval_ms),
        }
        settings = consumer_settings(
            {**session, **self._worker.originals},
            overrides(config, "consumer.override."),
            client_id=f"connector-consumer-{task}",
            group_id=f"connect-{task.connector}",
            keeps_duration=True,
        )
        return BatchConsumer(known(settings, task))

    def created_by(self, task: TaskId, config: SourceConnectorConfig) -> Topics:
        """Return what makes the missing topics of a source task. ConfigError: a key `topic.creation.*` is broken."""
        groups = topic_groups(config) if self._worker.topic_creation_enable else ()
        if not groups:
            return BrokersTopics()
        shared_id = f"{self._worker.client_prefix}-shared-adminclient-{os.getpid()}"
        settings = admin_settings(self._worker.originals, config.with_prefix("admin.override."), shared_id)
        properties = known(settings, task)
        key = frozenset(properties.items())
        return CreatedTopics(groups, lambda: self._admins.of(key, lambda: TopicAdmin(properties)), str(task))

    def read_by(
        self, task: TaskId, config: SourceConnectorConfig, converters: Converters, refuse: Refuse
    ) -> KafkaTopics:
        """Return the reader of Kafka's topics for a source that reads from Kafka itself."""
        worker = self._worker.originals
        reading = consumer_settings(
            worker,
            without_group(config.with_prefix("consumer.override.")),
            client_id=f"connector-consumer-{task}",
        )
        admin = admin_settings(worker, config.with_prefix("admin.override."), f"connector-adminclient-{task}")
        make = partial(self._memory_topic, config.originals) if writes_in_transactions(self._worker, config) else None
        return KafkaTopics(reading, admin, converters, refuse, make)

    def records_of(self, task: TaskId, topic: str, client: Mapping[str, str], prefix: str) -> KafkaTopicRecords:
        """Return the records of a topic whose signals a source obeys. ConfigError: see `SourceContext`."""
        try:
            settings = consumer_settings(
                self._worker.originals, without_group(client), client_id=f"connector-signals-{task}"
            )
        except ConfigError as error:
            own = "consumer.override."
            raise ConfigError(
                replace(found, key=found.key.replace(own, prefix), message=found.message.replace(own, prefix))
                for found in error.problems
            ) from error
        return KafkaTopicRecords(topic, known(settings, task))

    def _memory_topic(self, connector: Mapping[str, str], name: str, partitions: int) -> InternalTopic:
        reserved_topics(self._worker, connector).require_free(name, "state.topic", but={StateKind.MEMORY})
        return state_topic(self._worker, name, partitions)

    def looking_up(self, task: TaskId, config: Mapping[str, str]) -> Settings:
        """Return the settings of a consumer without a group that reads single records of a sink's topics again."""
        given = without_group(overrides(config, "consumer.override."))
        return consumer_settings(self._worker.originals, given, client_id=f"connector-lookup-{task}").properties

    def topic_id(self, task: TaskId, config: Mapping[str, str], topic: str, deadline: Deadline) -> str | None:
        """Return the id of a topic that a sink reads, by its consumer's rights; None where Kafka refuses it."""
        settings = consumer_settings(
            self._worker.originals,
            overrides(config, "consumer.override."),
            client_id=f"connector-adminclient-{task}",
        )
        try:
            return TopicAdmin(admin_part(settings.properties)).topic_id(topic, deadline)
        except RetriableError:
            raise
        except ConnectError as error:
            log.info("%s: the id of topic %s is not known: %s", task, topic, error)
            return None
