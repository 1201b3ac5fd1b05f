"""Asks for the offsets of sinks' groups. Sinks with the same login share all questions but that for the commits."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.doctor.model.facts import GroupFacts
from connect.doctor.model.words import number
from connect.kafka.admin.cluster_state import TopicState
from connect.kafka.admin.group_offsets import committed_offsets
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

AGED: Final = 0.8
"""A record is in danger when it is older than this part of its topic's retention time."""
_SIDE_BY_SIDE: Final = 8


@dataclass(frozen=True, slots=True)
class SinkGroup:
    """Holds the consumer group of a sink, those of its topics that exist, and its `admin.override.` settings."""

    connector: str
    group: str
    topics: Mapping[str, TopicState]
    overrides: Mapping[str, str]

    @property
    def partitions(self) -> list[TopicPartition]:
        """Return all partitions of its topics."""
        return [TopicPartition(name, p) for name, topic in self.topics.items() for p in range(len(topic.partitions))]


def group_facts(worker: WorkerConfig, sinks: Sequence[SinkGroup], deadline: Deadline) -> dict[str, GroupFacts]:
    """Return where each sink's group stands, by the sink's name.

    A sink whose question fails is left out, as other checks find out why the brokers do not answer.
    """
    by_login: dict[frozenset[tuple[str, str]], list[SinkGroup]] = defaultdict(list)
    for sink in sinks:
        by_login[frozenset(sink.overrides.items())].append(sink)
    found: dict[str, GroupFacts] = {}
    for overrides, together in by_login.items():
        settings = admin_settings(worker.originals, dict(overrides), f"{worker.client_prefix}-doctor").properties
        found |= _facts(settings, TopicAdmin(settings), together, deadline)
    return found


def _facts(
    settings: Mapping[str, Any], admin: TopicAdmin, sinks: Sequence[SinkGroup], deadline: Deadline
) -> dict[str, GroupFacts]:
    topics = {name: topic for sink in sinks for name, topic in sink.topics.items()}
    partitions = list({tp: None for sink in sinks for tp in sink.partitions})
    try:
        beginnings, ends = admin.beginning_offsets(partitions, deadline), admin.end_offsets(partitions, deadline)
        aged = _aged(admin, topics, partitions, ends, deadline)
    except ConnectError:
        # This login may lack rights at one topic; sinks of other topics are still answered.
        alone = [] if len(sinks) == 1 else sinks
        return {name: facts for sink in alone for name, facts in _facts(settings, admin, [sink], deadline).items()}

    def one(sink: SinkGroup) -> GroupFacts | None:
        own = sink.partitions
        try:
            committed = committed_offsets(settings, sink.group, own, deadline)
        except ConnectError:
            return None
        return GroupFacts(sink.group, committed, _of(own, beginnings), _of(own, ends), _of(own, aged))

    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="doctor-groups") as threads:
        answered = zip(sinks, threads.map(one, sinks), strict=True)
        return {sink.connector: facts for sink, facts in answered if facts is not None}


def _aged(
    admin: TopicAdmin,
    topics: Mapping[str, TopicState],
    partitions: Sequence[TopicPartition],
    ends: Mapping[TopicPartition, int],
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    """Return the first offset that is not in danger, for each partition whose records are deleted by age."""
    by_retention: dict[int, list[TopicPartition]] = defaultdict(list)
    for tp in partitions:
        configs = topics[tp.topic].configs
        retention_ms = number(configs.get("retention.ms")) or -1
        if "delete" in configs.get("cleanup.policy", "") and retention_ms > 0:
            by_retention[retention_ms].append(tp)
    aged: dict[TopicPartition, int] = {}
    for retention_ms, own in by_retention.items():
        since_ms = int(time.time() * 1000 - AGED * retention_ms)
        # If no record is younger, all records are in danger.
        aged |= _of(own, ends) | admin.offsets_at(own, since_ms, deadline)
    return aged


def _of(partitions: Collection[TopicPartition], offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return {tp: offsets[tp] for tp in partitions if tp in offsets}
