"""Opens clusters for a connector that copies records between them: implements the contract's `OtherCluster`."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from connect.api import schema as s
from connect.api.allowed_hosts import ALLOWED_HOSTS, PROFILE
from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.errors import ConfigError
from connect.api.records import Batch, Column, Consumed, Header, TopicPartition
from connect.kafka.admin.topic_changes import TopicChanges
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import ClientSettings, admin_part, consumer_settings
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.reset_policy import ResetPolicy
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import ReservedTopics
from connect.runtime.settings.topic_inspector import BrokerTopicInspector
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.topics.start_offsets import StartOffsets

log = logging.getLogger(__name__)

_POLL_RECORDS: Final = 10_000
_CLOSE_S: Final = 5.0
_BROKERS: Final = "bootstrap.servers"
_TOPICS: Final = "topics"
_OWN: Final = "consumer.override."
_LEAVE: Final = (ALLOWED_PATHS, ALLOWED_HOSTS, PROFILE)


def open_cluster(worker: Mapping[str, str], connector: str, client: Mapping[str, str], prefix: str) -> KafkaCluster:
    """Return the cluster that client settings name; see `OpensCluster`."""
    # A client of other brokers inherits nothing of the worker's but what the worker allows it to reach.
    inherited = {name: worker[name] for name in _LEAVE if name in worker} if client.get(_BROKERS) else worker
    own = {name: value for name, value in client.items() if name != "group.id"}  # no group is joined
    try:
        settings = consumer_settings(
            inherited, own, client_id=f"connector-cluster-{connector}", isolation="read_uncommitted",
            keeps_duration=True,
        )  # fmt: skip
    except ConfigError as error:
        raise ConfigError(
            replace(found, key=found.key.replace(_OWN, prefix), message=found.message.replace(_OWN, prefix))
            for found in error.problems
        ) from error
    if settings.unknown:
        log.info("%s: these keys of %s have no meaning here: %s", connector, prefix, ", ".join(settings.unknown))
    addresses = own if client.get(_BROKERS) else {}
    inspector = BrokerTopicInspector(inherited, addresses, f"connector-cluster-topics-{connector}")
    return KafkaCluster(settings, worker, inspector)


class KafkaCluster:
    """Asks one cluster, see `OtherCluster`.

    It changes no topic that holds the state of a cluster of workers: topics of another cluster may have any name, and
    their configs would take the records of this worker's own state away.
    """

    def __init__(self, settings: ClientSettings, worker: Mapping[str, str], inspector: BrokerTopicInspector) -> None:
        self._settings = settings.properties
        self._worker = worker
        self._inspector = inspector

    def topics(self, deadline: Deadline) -> Mapping[str, int]:
        """Return the number of partitions of every topic."""
        return self._admin.topics(deadline)

    def own_configs(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, Mapping[str, str]]:
        """Return the configs of each topic that are no defaults."""
        return self._changes.own_configs(topics, deadline)

    def state_of(self, topic: str, deadline: Deadline) -> str | None:
        """Return which state of a cluster of workers the topic's records are."""
        if topic in self._config.internal_topics_writable:
            return None
        return self._inspector(topic, deadline)

    def make_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str], deadline: Deadline
    ) -> bool:
        """Make a topic unless it is there. ReservedTopicError: it would hold the state of a cluster of workers."""
        self._reserved.require_free(topic, _TOPICS, deadline=deadline)
        return self._admin.create(
            topic, partitions=partitions, replication_factor=replication_factor, configs=configs, deadline=deadline
        )

    def widen_topic(self, topic: str, partitions: int, deadline: Deadline) -> None:
        """Give a topic more partitions. ReservedTopicError: it holds the state of a cluster of workers."""
        self._reserved.require_free(topic, _TOPICS, deadline=deadline)
        self._changes.widen(topic, partitions, deadline)

    def change_configs(self, topic: str, wanted: Mapping[str, str], removed: Sequence[str], deadline: Deadline) -> None:
        """Change configs of a topic. ReservedTopicError: it holds the state of a cluster of workers."""
        self._reserved.require_free(topic, _TOPICS, deadline=deadline)
        self._changes.change(topic, wanted, removed, deadline)

    def reader(self, starts: Mapping[TopicPartition, int | None]) -> KafkaClusterReader:
        """Return a reader of these partitions."""
        policy = ResetPolicy.parse(str(self._settings["auto.offset.reset"]))
        committed_only = self._settings.get("isolation.level") == "read_committed"
        return KafkaClusterReader(
            BatchConsumer(self._settings), StartOffsets(self._admin, policy, committed_only), starts
        )

    @cached_property
    def _config(self) -> WorkerConfig:
        return WorkerConfig.parse(self._worker)

    @cached_property
    def _reserved(self) -> ReservedTopics:
        return ReservedTopics(self._config, self._inspector)

    @cached_property
    def _admin(self) -> TopicAdmin:
        return TopicAdmin(admin_part(self._settings))

    @cached_property
    def _changes(self) -> TopicChanges:
        return TopicChanges(admin_part(self._settings))


class KafkaClusterReader:
    """Reads partitions of a cluster, see `ClusterReader`."""

    def __init__(
        self, consumer: BatchConsumer, places: StartOffsets, starts: Mapping[TopicPartition, int | None]
    ) -> None:
        self._consumer, self._places = consumer, places
        self._starts: Mapping[TopicPartition, int | None] | None = starts

    def poll(self, deadline: Deadline) -> Sequence[Batch]:
        """Return the next records of each partition that has some. The first call says where they begin."""
        if self._starts is not None:
            # A number does not move, as the end of a log would if the partition were assigned once more.
            self._consumer.assign(self._places.filled(self._starts, deadline))
            self._starts = None
        return [_batch(raw) for raw in self._consumer.poll(_POLL_RECORDS, deadline)]

    def take_losses(self) -> Sequence[str]:
        """Return the gaps between where reading was to go on and where it did."""
        return [str(gap) for gap in self._consumer.take_gaps()]

    def close(self) -> None:
        """Close the consumer."""
        try:
            self._consumer.assign({})
        finally:
            self._consumer.close(Deadline.after(_CLOSE_S))


def _batch(raw: RawBatch) -> Batch:
    assert raw.partition is not None  # records that were read have a place
    assert raw.offsets is not None
    assert raw.next_offset is not None
    headers = None
    if raw.headers is not None:
        headers = [[Header(key, value, s.BYTES) for key, value in given] for given in raw.headers]
    return Batch(
        raw.topic,
        Column.from_arrow(raw.values, s.BYTES.as_optional()),
        keys=None if raw.keys is None else Column.from_arrow(raw.keys, s.BYTES.as_optional()),
        headers=headers,
        timestamps_ms=raw.timestamps_ms,
        partition=raw.partition,
        consumed=Consumed(TopicPartition(raw.topic, raw.partition), raw.offsets, raw.next_offset),
    )
