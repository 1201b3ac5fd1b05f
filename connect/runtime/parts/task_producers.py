"""Makes producers for a host's tasks: they share a client while they send little, those of transactions never do."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Final

from connect.api.errors import ConnectError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, producer_settings, shares_client
from connect.kafka.produce.pooled_producer import PooledProducer, ProducerPool, RowProducer
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.produce.shared_producer import SharedProducer
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_overrides import known, overrides
from connect.runtime.records.record_sizes import RecordSizes
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId

log = logging.getLogger(__name__)

TRANSACTION_TIMEOUT_S: Final = 60.0
TRANSACTION_TIMEOUT_MAX_MS: Final = 900_000
"""The brokers' default transaction.max.timeout.ms is this long."""
_TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"


class TaskProducers:
    """Makes producers for tasks. Called from task threads; what it returns is owned by the caller."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker
        self._pool = ProducerPool()

    def transactional(self, task: TaskId, config: Mapping[str, str], open_s: float = 0.0) -> BatchProducer:
        """Return a producer for an exactly-once source; its id is Kafka Connect's `<group.id>-<connector>-<task>`.

        `open_s` is how long a transaction stays open before it is committed. Where nobody has set
        transaction.timeout.ms, it becomes 60 s longer than that: with the default of 60 s, brokers would now and then
        abort a transaction that stays open for 60 s.
        """
        given = overrides(config, "producer.override.")
        if open_s and not {_TRANSACTION_TIMEOUT, f"producer.{_TRANSACTION_TIMEOUT}"} & {
            *given,
            *self._worker.originals,
        }:
            wanted_ms = int((open_s + TRANSACTION_TIMEOUT_S) * 1000)
            given[_TRANSACTION_TIMEOUT] = str(min(wanted_ms, TRANSACTION_TIMEOUT_MAX_MS))
        settings = producer_settings(
            self._worker.originals,
            given,
            client_id=f"connector-producer-{task}",
            transactional_id=f"{self._worker.group_id}-{task}",
        )
        return BatchProducer(known(settings, task))

    def rows(self, task: TaskId, config: Mapping[str, str], client_id: str) -> RowProducer:
        """Return a producer for rows, or dead letters, of a task; it shares a client as long as it sends little."""
        given = overrides(config, "producer.override.")
        alone = known(producer_settings(self._worker.originals, given, client_id=client_id), task)
        if not shares_client(self._worker.originals, given):
            producer = BatchProducer(alone)
            try:
                producer.prepare()
            except BaseException:
                producer.close()
                raise
            return producer
        shared = producer_settings(self._worker.originals, given, client_id=self._shared_id)
        return PooledProducer(self._pool, shared.properties, alone)

    def record_sizes(self, task: TaskId, raw: Mapping[str, str]) -> RecordSizes:
        """Return what finds too large records: it knows the producer's limit and asks for the topics' limits."""
        settings = producer_settings(self._worker.originals, overrides(raw, "producer.override."), client_id=str(task))
        admin = admin_settings(
            self._worker.originals, overrides(raw, "admin.override."), f"connector-adminclient-{task}"
        )

        def topic_limit(topic: str) -> str | None:
            try:
                return TopicAdmin(admin.properties).configs(topic, Deadline.after(5.0)).get("max.message.bytes")
            except ConnectError as error:
                log.info("%s: the limit of topic %s is not known: %s", task, topic, error)
                return None

        return RecordSizes(int(settings.properties["message.max.bytes"]), topic_limit)

    def take_shared(self) -> SharedProducer:
        """Return the producer that the host's tasks share, to write offsets with; call `give_back` in the end."""
        settings = producer_settings(self._worker.originals, {}, client_id=self._shared_id)
        return self._pool.take(settings.properties)

    def give_back(self, producer: SharedProducer) -> None:
        """Take back a producer of `take_shared`."""
        self._pool.give_back(producer)

    @property
    def _shared_id(self) -> str:
        return f"{self._worker.client_prefix}-shared-producer-{os.getpid()}"
