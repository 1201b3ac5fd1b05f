"""Checks how Kafka fares, in numbers."""

from __future__ import annotations

from connect.kafka.admin.cluster_state import ClusterState, PartitionState, TopicState
from connect.rest.figures.kafka_health import kafka_figures

WELL = PartitionState(leader=1, replicas=3, in_sync=3)


def test_a_sound_cluster_has_nothing_offline_missing_or_refusing() -> None:
    state = ClusterState(brokers=3, topics={"own": TopicState([WELL] * 2, {"min.insync.replicas": "2"})}, controller=2)
    assert kafka_figures(state, ["own"]) == {
        "kafka_up": 1, "kafka_brokers": 3, "kafka_controller": 1, "kafka_partitions": 2, "kafka_offline": 0,
        "kafka_under_replicated": 0, "kafka_own_missing": 0, "kafka_own_refusing": 0,
    }  # fmt: skip


def test_partitions_of_all_topics_count_and_of_the_workers_own_those_that_refuse_writes() -> None:
    thin, dead = PartitionState(leader=1, replicas=3, in_sync=1), PartitionState(leader=-1, replicas=3, in_sync=0)
    topics = {
        "own": TopicState([WELL, thin], {"min.insync.replicas": "2"}),
        "orders": TopicState([WELL, thin, dead], {"min.insync.replicas": "2"}),
    }
    found = kafka_figures(
        ClusterState(brokers=1, topics=topics, denied=frozenset({"hidden"})), ["own", "gone", "hidden"]
    )
    assert (found["kafka_offline"], found["kafka_under_replicated"], found["kafka_partitions"]) == (1, 3, 5)
    assert (found["kafka_own_refusing"], found["kafka_own_missing"], found["kafka_controller"]) == (1, 1, 0)


def test_where_no_broker_answers_nothing_else_is_told() -> None:
    assert kafka_figures(ClusterState(trouble="away", brokers=3), ["own"]) == {"kafka_up": 0}
