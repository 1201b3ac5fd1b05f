"""Says which offsets topic a source connector uses, how such a topic is made, and opens it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from connect.kafka.admin.topic_specs import InternalTopic, TopicSpec
from connect.kafka.log.kv_log import KeyValueLog, Settings
from connect.kafka.produce.shared_producer import SharedProducer
from connect.lib.deadline import Deadline
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.offset_records import OffsetTable
from connect.runtime.source.offset_store import OffsetStore

log = logging.getLogger(__name__)

_BROKERS: Final = "bootstrap.servers"
_NOT_CONFIGS: Final = frozenset({"topic", "partitions", "replication.factor", "encryption.key"})


def own_topic(worker: WorkerConfig, config: SourceConnectorConfig, *, transactional: bool) -> str | None:
    """Return the name of the connector's own offsets topic; None if the worker's topic counts.

    `transactional` says that the task's own producer writes the offsets, so they are on the brokers of that producer.
    """
    topic = config.offsets_storage_topic or (worker.offset_storage_topic if transactional else None)
    if topic is None:
        return None
    brokers = config.with_prefix("producer.override.").get(_BROKERS)
    elsewhere = brokers is not None and _addresses(brokers) != _addresses(worker.originals.get(_BROKERS, ""))
    return topic if elsewhere or topic != worker.offset_storage_topic else None


def workers_topic(worker: WorkerConfig) -> InternalTopic:
    """Return the worker's offsets topic."""
    return InternalTopic(
        TopicSpec(
            worker.offset_storage_topic,
            worker.offset_storage_partitions,
            worker.offset_storage_replication_factor,
            compacted(worker, "offset.storage."),
        ),
        key="offset.storage.topic",
        purpose="source connector offsets",
        factor_key="offset.storage.replication.factor",
        explicit=explicit(worker, "offset.storage."),
    )


def connectors_topic(worker: WorkerConfig, name: str) -> InternalTopic:
    """Return a connector's own offsets topic, with the worker's settings for such topics."""
    topic = workers_topic(worker)
    spec = replace(topic.spec, name=name)
    return replace(topic, spec=spec, key="offsets.storage.topic", set_in="connector configuration")


def state_topic(worker: WorkerConfig, name: str, partitions: int) -> InternalTopic:
    """Return a topic in which a source task keeps its state, replicated as the worker's offsets are."""
    topic = workers_topic(worker)
    spec = replace(topic.spec, name=name, partitions=partitions)
    return replace(topic, spec=spec, key="state.topic", purpose="source task state", set_in="connector configuration",
                   explicit=topic.explicit - {"partitions"})  # fmt: skip


def explicit(worker: WorkerConfig, prefix: str) -> frozenset[str]:
    """Return the settings that the worker's file gives itself. Topics that exist must meet these, but not defaults."""
    return frozenset({"replicas"} if f"{prefix}replication.factor" in worker.originals else ())


def compacted(worker: WorkerConfig, prefix: str) -> dict[str, str]:
    """Return the topic configs among the worker's keys of this prefix, with plain compaction, which loses no state."""
    given = {k: v for k, v in worker.with_prefix(prefix).items() if k not in _NOT_CONFIGS}
    return {**given, "cleanup.policy": "compact"}


class OpenOffsets:
    """Reads an offsets topic whole and follows it. Without `producer` only others write to it, in transactions."""

    def __init__(
        self,
        topic: str,
        consumer: Settings,
        producer: Settings | SharedProducer | None,
        *,
        level: int = logging.WARNING,
    ) -> None:
        """Take the settings of the clients. Skipped records are logged at `level`."""
        table = OffsetTable()

        def take(key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp_ms: int) -> None:
            if key is None or not table.apply(key, value, partition=partition, timestamp_ms=timestamp_ms):
                log.log(level, "Skipped a record that is no source offset: %s-%d@%d", topic, partition, offset)

        # The offset of an aborted transaction would skip rows that nobody can read.
        self._log = KeyValueLog(topic, {**consumer, "isolation.level": "read_committed"}, producer, on_record=take)
        self.store = OffsetStore(self._log, table, topic)

    def begin(self, deadline: Deadline) -> None:
        """Begin to read; `store.read_to_end` waits for the end. Raise RetriableError when no broker answers in time."""
        self._log.begin(deadline)

    def close(self) -> None:
        """Write queued records and close the clients."""
        self._log.close()


def _addresses(brokers: str) -> frozenset[str]:
    return frozenset(part.strip() for part in brokers.split(",") if part.strip())


def without_group(overrides: Mapping[str, str]) -> dict[str, str]:
    """Return consumer settings without the group id, for a consumer that reads by assignment and joins no group."""
    return {key: value for key, value in overrides.items() if key != "group.id"}
