"""Makes the figures of the Kafka cluster that the workers depend on. Pure."""

from __future__ import annotations

from collections.abc import Collection

from connect.kafka.admin.cluster_state import ClusterState, PartitionState


def kafka_figures(state: ClusterState, own_topics: Collection[str]) -> dict[str, float]:
    """Return the figures of KAFKA_METRICS. `own_topics` are the topics with the state of the workers.

    If no broker answers, there is only the figure that says so.
    """
    if state.trouble is not None:
        return {"kafka_up": 0.0}
    partitions = [partition for topic in state.topics.values() for partition in topic.partitions]
    missing = [name for name in own_topics if name not in state.topics and name not in state.denied]
    return {
        "kafka_up": 1.0,
        "kafka_brokers": float(state.brokers),
        "kafka_controller": float(state.controller >= 0),
        "kafka_partitions": float(len(partitions)),
        "kafka_offline": float(sum(partition.leader < 0 for partition in partitions)),
        "kafka_under_replicated": float(sum(map(_lacks_replicas, partitions))),
        "kafka_own_missing": float(len(missing)),
        "kafka_own_refusing": float(sum(_refusing(state, name) for name in own_topics if name in state.topics)),
    }


def _lacks_replicas(partition: PartitionState) -> bool:
    return partition.in_sync < partition.replicas


def _refusing(state: ClusterState, name: str) -> int:
    """Return how many partitions of a topic accept no writes, as they have fewer in-sync replicas than required."""
    topic = state.topics[name]
    least = int(topic.configs.get("min.insync.replicas", "1"))
    return sum(partition.in_sync < least for partition in topic.partitions)
