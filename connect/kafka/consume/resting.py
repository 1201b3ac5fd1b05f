"""Where partitions that are paused begin and end: nothing is fetched of them, so that brokers are asked, but seldom."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition

ASK_S: Final = 3.0
"""How often brokers are asked."""
_ANSWER_S: Final = 1.0
"""Whoever pauses waits so long for an answer, and goes by the last one then."""
_LOG = logging.getLogger(__name__)


class RestingPartitions:
    """Keeps what brokers said last. Owned by the consumer's thread.

    `begins_at_end`: a group that has committed nothing reads later records alone.
    """

    def __init__(self, consumer: Consumer, *, begins_at_end: bool) -> None:
        self._consumer = consumer
        self._unread = OFFSET_END if begins_at_end else OFFSET_BEGINNING
        self._next_s = 0.0
        self.ends: dict[TopicPartition, int] = {}
        """They are those of the last answers, for partitions that were paused within `ASK_S`."""
        self.starts: dict[TopicPartition, int] = {}
        """They are where the group goes on: what it has committed, else the first offset that it will read."""

    def look(self, paused: Collection[TopicPartition]) -> None:
        """Ask for these partitions, unless that was done a moment ago; forget others."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + ASK_S
        for known in (self.ends, self.starts):
            for tp in set(known) - set(paused):
                del known[tp]
        if not paused:
            return
        try:
            self.ends |= self._asked(paused, OFFSET_END)
            if new := set(paused) - set(self.starts):
                self.starts |= self._asked(new, self._unread)
                found = self._consumer.committed([KafkaPartition(*tp) for tp in sorted(new)], timeout=_ANSWER_S)
                self.starts |= _offsets(found)
        except KafkaException as error:
            _LOG.debug("Brokers did not tell where paused partitions end: %s", error)

    def _asked(self, partitions: Collection[TopicPartition], which: int) -> dict[TopicPartition, int]:
        wanted = [KafkaPartition(*tp, which) for tp in sorted(partitions)]
        return _offsets(self._consumer.offsets_for_times(wanted, timeout=_ANSWER_S))


def _offsets(found: Collection[KafkaPartition]) -> dict[TopicPartition, int]:
    return {TopicPartition(p.topic, p.partition): p.offset for p in found if p.error is None and p.offset >= 0}
