"""Describes the internal topics, in which a cluster of workers keeps its own state. Pure."""

from __future__ import annotations

from connect.kafka.admin.topic_specs import InternalTopic, TopicSpec
from connect.runtime.settings.internal_topics import slots_topic
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.offset_topics import compacted, explicit, workers_topic


def internal_topics(worker: WorkerConfig) -> list[InternalTopic]:
    """Return all internal topics. A start does not wait for the last one.

    Further keys such as `config.storage.*` become settings of their topic, as in Kafka Connect.
    """
    return [
        InternalTopic(
            TopicSpec(
                worker.config_storage_topic,
                1,
                worker.config_storage_replication_factor,
                compacted(worker, "config.storage."),
            ),
            key="config.storage.topic",
            purpose="connector configurations",
            single_partition=True,
            explicit=explicit(worker, "config.storage."),
        ),
        InternalTopic(
            TopicSpec(
                worker.status_storage_topic,
                worker.status_storage_partitions,
                worker.status_storage_replication_factor,
                compacted(worker, "status.storage."),
            ),
            key="status.storage.topic",
            purpose="connector and task statuses",
            explicit=explicit(worker, "status.storage."),
        ),
        InternalTopic(
            TopicSpec(
                slots_topic(worker),
                worker.slots,
                worker.config_storage_replication_factor,
                {"cleanup.policy": "compact"},
            ),
            key="group.id",
            purpose="the workers' slots",
            explicit=frozenset({"partitions"} if "slots" in worker.originals else ()),
        ),
        workers_topic(worker),
    ]
