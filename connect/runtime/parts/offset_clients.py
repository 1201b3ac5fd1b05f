"""Opens the topics in which offsets of sources are: the worker's, or a connector's own."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import ExitStack

from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings
from connect.lib.deadline import Deadline
from connect.runtime.parts.task_producers import TaskProducers
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.internal_topics import StateKind
from connect.runtime.settings.topic_inspector import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.exactly_once import writes_in_transactions
from connect.runtime.source.offset_store import SourceOffsets
from connect.runtime.source.offset_topics import OpenOffsets, connectors_topic, own_topic, without_group


class OffsetClients:
    """Opens offsets topics. All tasks of the host share the worker's; they may ask for it from their own threads."""

    def __init__(self, worker: WorkerConfig, producers: TaskProducers) -> None:
        self._worker = worker
        self._producers = producers
        self._workers: OpenOffsets | None = None
        self._opening = threading.Lock()

    def of_worker(self, deadline: Deadline) -> OpenOffsets:
        """Return the worker's offsets topic, which the first call begins to read. RetriableError: no broker answers.

        It may not be read to its end yet: a source task waits for that once it has fenced its former owner.
        """
        with self._opening:
            if self._workers is None:
                self._workers = self._open_offsets(deadline)
            return self._workers

    def _open_offsets(self, deadline: Deadline) -> OpenOffsets:
        client_id = f"{self._worker.client_prefix}-offsets-{os.getpid()}"
        producer = self._producers.take_shared()
        try:
            offsets = OpenOffsets(
                self._worker.offset_storage_topic,
                consumer_settings(self._worker.originals, {}, client_id=client_id).properties,
                producer,
                level=logging.DEBUG,  # the worker warns of it, once for all its hosts
            )
            offsets.begin(deadline)
        except BaseException:
            self._producers.give_back(producer)
            raise
        return offsets

    def of_connector(
        self, connector: str, label: str, config: SourceConnectorConfig, stack: ExitStack, deadline: Deadline
    ) -> SourceOffsets:
        """Return the offsets of a source, read to the end. `stack` closes their topic; `label` names its clients.

        If the connector has an offsets topic of its own, it is made where it is missing. ConfigError: that topic is not
        compacted.
        """
        workers = self.of_worker(deadline).store
        transactional = writes_in_transactions(self._worker, config)
        topic = own_topic(self._worker, config, transactional=transactional)
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
        worker = self._worker.originals
        client_id = f"connector-offsets-{label}"
        reserved = reserved_topics(self._worker, config.originals)
        reserved.require_free(topic, "offsets.storage.topic", but={StateKind.OFFSETS})
        admin = TopicAdmin(admin_settings(worker, config.with_prefix("admin.override."), client_id).properties)
        admin.ensure_internal([connectors_topic(self._worker, topic)], deadline)
        consumer = without_group(config.with_prefix("consumer.override."))
        producer = producer_settings(worker, config.with_prefix("producer.override."), client_id=client_id)
        return OpenOffsets(
            topic,
            consumer_settings(worker, consumer, client_id=client_id).properties,
            None if transactional else producer.properties,
        )

    def close(self) -> None:
        """Release the worker's topic."""
        if self._workers is not None:
            self._workers.close()
