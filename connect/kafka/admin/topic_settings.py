"""Lists the settings that topics of Kafka 4.1 have, by name."""

from __future__ import annotations

from typing import Final

TOPIC_SETTINGS: Final = frozenset("""
    cleanup.policy compression.type compression.gzip.level compression.lz4.level compression.zstd.level
    delete.retention.ms file.delete.delay.ms flush.messages flush.ms follower.replication.throttled.replicas
    index.interval.bytes leader.replication.throttled.replicas local.retention.bytes local.retention.ms
    max.compaction.lag.ms max.message.bytes message.timestamp.after.max.ms message.timestamp.before.max.ms
    message.timestamp.type min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas preallocate
    remote.storage.enable remote.log.copy.disable remote.log.delete.on.disable retention.bytes retention.ms
    segment.bytes segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable
""".split())  # fmt: skip  # noqa: SIM905 - a list of names reads better as text
