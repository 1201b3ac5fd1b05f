"""Asks the brokers for the cluster's state, and where sinks' groups stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from connect.api.errors import ConnectError
from connect.cluster.model.cluster_topics import internal_topics
from connect.cluster.offsets.sink_groups import needs_host
from connect.doctor.checks.message_sizes import CONSUMER, PRODUCER
from connect.doctor.gathering.group_facts import SinkGroup, group_facts
from connect.doctor.model.facts import ConnectorFacts
from connect.doctor.model.words import DLQ_TOPIC, number, some_of
from connect.kafka.admin.cluster_state import ClusterState, cluster_state
from connect.kafka.admin.topic_specs import TopicSpec
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings
from connect.lib.deadline import Deadline
from connect.runtime.calls.group_calls import ADMIN_OVERRIDE, group_of
from connect.runtime.settings.config_providers import placeholders
from connect.runtime.settings.worker_config import WorkerConfig

_RECEIVED_BYTES: Final = 100_000_000
"""This is the default of receive.message.max.bytes."""

Configs = Mapping[str, Mapping[str, str]]
"""Maps each connector to its configuration as it is stored."""


def kafka_facts(
    worker: WorkerConfig,
    connectors: Sequence[ConnectorFacts],
    configs: Configs,
    deadline: Deadline,
    *,
    is_running: bool,
) -> tuple[ClusterState, list[ConnectorFacts]]:
    """Return the state of the cluster, and the connectors with their sizes and groups."""
    settings = admin_settings(worker.originals, {}, f"{worker.client_prefix}-doctor").properties
    groups = {name: group_of({**configs[name], "name": name}) for name in (c.name for c in connectors if c.is_sink)
              if not needs_host(configs[name])}  # fmt: skip
    topics = {topic.spec.name for topic in internal_topics(worker)} | {t for c in connectors for t in c.topics}
    topics |= {c.config[DLQ_TOPIC] for c in connectors if c.config.get(DLQ_TOPIC)}
    to_make = [*(_own(worker) if not is_running else []), *map(TopicSpec, _made_by(connectors))]
    state = cluster_state(settings, topics, {worker.group_id, *groups.values()}, deadline, to_make)

    sinks = [] if state.trouble is not None else [
        SinkGroup(c.name, groups[c.name], {t: state.topics[t] for t in c.topics if t in state.topics},
                  _overrides(ADMIN_OVERRIDE, configs[c.name]))
        for c in connectors if c.name in groups and groups[c.name] not in state.groups_denied
    ]  # fmt: skip
    stand = group_facts(worker, sinks, deadline)
    if silent := [sink.connector for sink in sinks if sink.connector not in stand]:
        state = replace(state, unanswered=[*state.unanswered, f"where the groups of {some_of(silent)} stand"])
    return state, [
        replace(c, client=_sizes(worker, c.is_sink, configs[c.name]), group=stand.get(c.name)) for c in connectors
    ]


def _own(worker: WorkerConfig) -> list[TopicSpec]:
    """Return the topics that a worker makes as it starts."""
    return [topic.spec for topic in internal_topics(worker)] if worker.internal_topics_automatic_creation_enable else []


def _made_by(connectors: Sequence[ConnectorFacts]) -> set[str]:
    """Return the topics that connectors make where they are not there: sources theirs, sinks that of dead letters."""
    letters = {c.config[DLQ_TOPIC] for c in connectors if c.is_sink and c.config.get(DLQ_TOPIC)}
    return letters | {topic for c in connectors if not c.is_sink for topic in c.topics}


def _overrides(prefix: str, config: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}


def _sizes(worker: WorkerConfig, is_sink: bool, config: Mapping[str, str]) -> dict[str, int]:
    overrides = _overrides("consumer.override." if is_sink else "producer.override.", config)
    if any(True for value in overrides.values() for _ in placeholders(value)):
        return {}
    make = consumer_settings if is_sink else producer_settings
    try:
        found = make(worker.originals, overrides, client_id="doctor").properties
    except ConnectError:
        return {}  # validation reports the broken key
    known = {CONSUMER: _RECEIVED_BYTES, **found} if is_sink else found
    sizes = {key: number(str(known.get(key))) for key in (PRODUCER, CONSUMER)}
    return {key: size for key, size in sizes.items() if size is not None}
