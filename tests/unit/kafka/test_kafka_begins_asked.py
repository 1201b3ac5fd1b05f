"""Counts how often a sink that has rows to write waits for brokers to tell where logs begin."""

from __future__ import annotations

from typing import cast

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition
from connect.kafka.consume import partition_ends
from connect.kafka.consume.partition_ends import ASK_S, BEGINS_S, PartitionEnds
from connect.kafka.consume.reset_policy import ResetPolicy

PLACE = TopicPartition("t", 0)


class BusyConsumer:
    """Fetches from a log whose end it has not reached, and counts the questions for its begin."""

    def __init__(self) -> None:
        self.begins = 0

    def get_watermark_offsets(self, partition: KafkaPartition, *, cached: bool) -> tuple[int, int]:
        assert cached
        return 0, 100

    def committed(self, wanted: list[KafkaPartition], *, timeout: float) -> list[KafkaPartition]:
        assert timeout > 0
        return wanted

    def offsets_for_times(self, wanted: list[KafkaPartition], *, timeout: float) -> list[KafkaPartition]:
        assert timeout > 0
        self.begins += sum(part.offset == OFFSET_BEGINNING for part in wanted)
        return [KafkaPartition(part.topic, part.partition, 7) for part in wanted]


def test_a_busy_sink_asks_seldom_and_remembers_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(partition_ends.time, "monotonic", lambda: now_s)
    consumer = BusyConsumer()
    ends = PartitionEnds(cast("Consumer", consumer), ResetPolicy("earliest"))
    looks = round(2 * BEGINS_S / ASK_S)
    for _ in range(looks):
        assert ends.of([PLACE], []) == {PLACE: 100}
        now_s += ASK_S
    assert consumer.begins == 2, f"of {looks} looks"
    assert ends.log_starts == {PLACE: 7}, "the answer counts until the next one"
    consumer.begins = 0
    for _ in range(3):
        ends.of([PLACE], [PLACE])
        now_s += ASK_S
    assert consumer.begins >= 3, "a paused sink has time to ask"
