"""Checks what the demo makes of a Kafka that cannot tell for a moment how far a topic is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from connect.tools.demo.watch import Watch


class Broker:
    """Answers for a topic of one partition, by turns: its first and next offset, or the code of an error."""

    def __init__(self, *answers: tuple[int, int] | int) -> None:
        self._answers = list(answers)

    def list_topics(self, timeout: float) -> Any:
        assert timeout > 0
        return SimpleNamespace(topics={"flights": SimpleNamespace(partitions=[0])})

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        assert (partition.topic, partition.partition) == ("flights", 0)
        assert timeout > 0
        answer = self._answers.pop(0)
        if isinstance(answer, int):
            raise KafkaException(KafkaError(answer))
        return answer


def watch(*answers: tuple[int, int] | int) -> Watch:
    watch = object.__new__(Watch)
    watch._consumer, watch._records = Broker(*answers), {}  # type: ignore[assignment]  # Broker stands in for a consumer
    return watch


def test_a_topic_whose_leader_is_not_known_yet_stands_where_it_stood():
    seen = watch(KafkaError.NOT_LEADER_FOR_PARTITION, (2, 9), KafkaError.LEADER_NOT_AVAILABLE, (2, 12))
    assert [seen._topic_records("flights") for _ in range(4)] == [0, 7, 7, 10]


def test_what_does_not_go_away_is_raised():
    with pytest.raises(KafkaException, match="authorization"):
        watch(KafkaError.TOPIC_AUTHORIZATION_FAILED)._topic_records("flights")
