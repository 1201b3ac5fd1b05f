"""Asks the brokers for the cluster's state, and where sinks' groups stand."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.cluster.model.topic_layout import internal_topics
from connect.cluster.offsets.sink_groups import needs_host
from connect.doctor.checks.message_sizes import CONSUMER, PRODUCER
from connect.doctor.model.facts import ConnectorFacts, GroupFacts
from connect.doctor.model.words import number
from connect.kafka.admin.cluster_state import ClusterState, TopicState, cluster_state
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings
from connect.lib.deadline import Deadline
from connect.runtime.calls.group_calls import ADMIN_OVERRIDE, group_of
from connect.runtime.settings.config_providers import placeholders
from connect.runtime.settings.worker_config import WorkerConfig

AGED: Final = 0.8
"""A record is in danger when it is older than this part of its topic's retention time."""
_RECEIVED_BYTES: Final = 100_000_000
"""receive.message.max.bytes is this where nobody sets it."""
_SIDE_BY_SIDE: Final = 8

Configs = Mapping[str, Mapping[str, str]]
"""Connector -> its configuration as it is stored."""


def kafka_facts(
    worker: WorkerConfig, connectors: Sequence[ConnectorFacts], configs: Configs, deadline: Deadline
) -> tuple[ClusterState, list[ConnectorFacts]]:
    """Return the state of the cluster, and the connectors with their sizes and groups."""
    settings = admin_settings(worker.originals, {}, f"{worker.client_prefix}-doctor").properties
    groups = {name: group_of({"name": name, **configs[name]}) for name in (c.name for c in connectors if c.is_sink)
              if not needs_host(configs[name])}  # fmt: skip
    topics = {topic.spec.name for topic in internal_topics(worker)} | {t for c in connectors for t in c.topics}
    state = cluster_state(settings, topics, {worker.group_id, *groups.values()}, deadline)

    def more(connector: ConnectorFacts) -> ConnectorFacts:
        config = configs[connector.name]
        found = replace(connector, client=_sizes(worker, connector.is_sink, config))
        group = groups.get(connector.name)
        if group is None or state.trouble is not None or group in state.groups_denied:
            return found
        known = {name: state.topics[name] for name in connector.topics if name in state.topics}
        try:
            return replace(found, group=_group(worker, config, group, known, deadline))
        except ConnectError:
            return found  # what keeps it from answering is found by other checks

    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="doctor-groups") as threads:
        return state, list(threads.map(more, connectors))


def _sizes(worker: WorkerConfig, is_sink: bool, config: Mapping[str, str]) -> dict[str, int]:
    prefix = "consumer.override." if is_sink else "producer.override."
    overrides = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    if any(True for value in overrides.values() for _ in placeholders(value)):
        return {}
    make = consumer_settings if is_sink else producer_settings
    try:
        found = make(worker.originals, overrides, client_id="doctor").properties
    except ConnectError:
        return {}  # validation names the key
    known = {CONSUMER: _RECEIVED_BYTES, **found} if is_sink else found
    sizes = {key: number(str(known.get(key))) for key in (PRODUCER, CONSUMER)}
    return {key: size for key, size in sizes.items() if size is not None}


def _group(
    worker: WorkerConfig, config: Mapping[str, str], group: str, topics: Mapping[str, TopicState], deadline: Deadline
) -> GroupFacts:
    overrides = {k.removeprefix(ADMIN_OVERRIDE): v for k, v in config.items() if k.startswith(ADMIN_OVERRIDE)}
    admin = TopicAdmin(admin_settings(worker.originals, overrides, f"{worker.client_prefix}-doctor").properties)
    partitions = [TopicPartition(name, p) for name, topic in topics.items() for p in range(len(topic.partitions))]
    every = admin.group_offsets(group, deadline)
    committed = {tp: every[tp] for tp in partitions if tp in every}
    beginnings, ends = admin.beginning_offsets(partitions, deadline), admin.end_offsets(partitions, deadline)
    aged: dict[TopicPartition, int] = {}
    for name, topic in topics.items():
        retention_ms = number(topic.configs.get("retention.ms")) or -1
        if "delete" in topic.configs.get("cleanup.policy", "") and retention_ms > 0:
            own = [tp for tp in partitions if tp.topic == name]
            since_ms = int(time.time() * 1000 - AGED * retention_ms)
            # Where no record is younger, all are old.
            aged |= {tp: ends[tp] for tp in own} | admin.offsets_at(own, since_ms, deadline)
    return GroupFacts(group, committed, beginnings, ends, aged)
