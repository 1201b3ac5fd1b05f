"""Reads and writes the claims of all clusters in Kafka. Each claim is in its cluster's slots topic, under one key."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from connect.cluster.model.cluster_claim import KEY, SUFFIX, ClusterClaim
from connect.cluster.store.claiming import SeenClaim
from connect.kafka.admin.groups import GroupMembers
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import consumer_settings, producer_settings
from connect.kafka.consume.last_value import LastValue, read_values, write_value
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import slots_topic
from connect.runtime.settings.worker_config import WorkerConfig


class KafkaClaims:
    """Implements `ClaimLog` for one try; every call ends by the deadline."""

    def __init__(self, worker: WorkerConfig, admin: TopicAdmin, deadline: Deadline, *, is_new: bool) -> None:
        """`is_new` is True if the cluster's own slots topic has just been made, and is empty."""
        client_id = f"{worker.client_prefix}-claims"
        self._own = slots_topic(worker)
        self._consumer = consumer_settings(worker.originals, {}, client_id=client_id).properties
        self._producer = producer_settings(worker.originals, {}, client_id=client_id).properties
        self._admin = admin
        self._deadline = deadline
        self._is_empty = is_new

    def read(self) -> Mapping[str, Sequence[SeenClaim]]:
        """Return the claims in each slots topic, oldest first."""
        names = {name for name in self._admin.topics(self._deadline) if name.endswith(SUFFIX)}
        topics = sorted(names - {self._own} if self._is_empty else names | {self._own})
        found = read_values(topics, KEY, self._consumer, self._deadline) if topics else {}
        return {topic: [_seen(kept) for kept in values] for topic, values in found.items()}

    def write(self, claim: ClusterClaim | None) -> SeenClaim:
        """Write a claim into the slots topic of this worker's cluster; None withdraws it."""
        self._is_empty = False
        value = None if claim is None else claim.as_bytes()
        return _seen(write_value(self._own, KEY, value, self._producer, self._deadline))

    def members(self, group_id: str) -> GroupMembers:
        """Return the workers in the group of a cluster."""
        return self._admin.group_members(group_id, self._deadline)

    def now_ms(self) -> int:
        """Return the time, in epoch milliseconds."""
        return time.time_ns() // 1_000_000


def _seen(kept: LastValue) -> SeenClaim:
    return SeenClaim(ClusterClaim.parse(kept.value), kept.offset, kept.time_ms)
