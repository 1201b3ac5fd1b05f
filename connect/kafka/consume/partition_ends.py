"""Knows where partitions begin and end, for a consumer that may read only committed transactions."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition
from connect.kafka.client.errors import translated
from connect.kafka.consume.reset_policy import ResetPolicy
from connect.kafka.raw import RawBatch

ASK_S: Final = 3.0
"""Brokers are asked again after so many seconds."""
BEGINS_S: Final = 30.0
"""Brokers are asked so seldom, in seconds, where the logs begin that a busy sink has not read to their ends."""
_ANSWER_S: Final = 1.0
"""An answer is waited for so long; after that the previous answer counts."""
_LOG = logging.getLogger(__name__)


class PartitionEnds:
    """Keeps the ends of partitions that fetches tell. Owned by the consumer's thread.

    Brokers are asked now and then about partitions of which no fetch tells enough: those that are paused, and those
    whose last rows belong to an open transaction, which nobody can read. Of those that are paused or stay behind they
    are also asked for the begin, as records may be deleted unread. `policy` says where a group begins that has
    committed nothing.
    """

    def __init__(self, consumer: Consumer, policy: ResetPolicy) -> None:
        self._consumer = consumer
        self._policy = policy
        self._next_s = self._next_begins_s = 0.0
        self._asked: dict[TopicPartition, int] = {}
        self._held_back: dict[TopicPartition, int] = {}
        self.reached: dict[TopicPartition, int] = {}
        """Holds the ends up to which all was read. The last entry before an end may be a transaction marker."""
        self.starts: dict[TopicPartition, int] = {}
        """Holds the next offset of each paused partition: the committed one, else the first one to read."""
        self.log_starts: dict[TopicPartition, int] = {}
        """Holds the first offset that brokers still have, of partitions that are paused or stay behind."""
        self._behind: set[TopicPartition] = set()

    def note(self, ends: Mapping[TopicPartition, int], batches: Sequence[RawBatch]) -> None:
        """Note the ends that one poll reached, and its rows."""
        self.reached |= ends
        for batch in batches:
            tp = TopicPartition(batch.topic, batch.partition or 0)
            if (batch.next_offset or 0) > self.reached.get(tp, 0):
                self.reached.pop(tp, None)

    def passed(self, end: int, partition: TopicPartition) -> None:
        """Note that before this offset there is nothing more to read."""
        self.reached[partition] = end

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the reached ends of these partitions, as they are read from another place, or no longer."""
        for tp in partitions:
            self.reached.pop(tp, None)

    def of(self, owned: Collection[TopicPartition], paused: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the end of each owned partition's readable records, where it is known."""
        ends = self._fetched(owned)
        behind = {tp: end for tp, end in self.reached.items() if tp not in paused and ends.get(tp, end) > end}
        # A new row is fetched soon, but an open transaction is still there at the next look.
        held_back = {tp for tp, end in behind.items() if self._held_back.get(tp) == end}
        self._held_back = behind
        unread = {tp for tp, end in ends.items() if self.reached.get(tp, -1) < end}
        self._look([tp for tp in owned if tp in paused], held_back, unread)
        for tp, end in self._asked.items():
            if tp in held_back:
                ends[tp] = max(end, self.reached[tp])
            elif tp in owned:
                ends[tp] = max(end, ends.get(tp, 0))
        return ends

    def _fetched(self, owned: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        found = {}
        for tp in owned:
            with translated(f"reading the end of {tp.topic}-{tp.partition}"):
                marks = self._consumer.get_watermark_offsets(KafkaPartition(*tp), cached=True)
            if marks is not None and marks[1] >= 0:
                found[tp] = marks[1]
        return found

    def _look(
        self, paused: Collection[TopicPartition], held_back: Collection[TopicPartition], unread: set[TopicPartition]
    ) -> None:
        """Ask for the ends of these partitions, unless that was done a moment ago, and forget others.

        `unread` has those whose end is not reached. They stay behind if they did not reach it since the last look.
        """
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + ASK_S
        wanted, busy = {*paused, *held_back}, unread & self._behind
        begins = {*paused, *busy}
        # A question waits on the task's thread, so a sink that has rows to write asks seldom. Retention is slow, too.
        is_due = bool(busy) and now_s >= self._next_begins_s
        self._next_begins_s = now_s + BEGINS_S if is_due else self._next_begins_s
        self._behind = unread
        self._asked = {tp: end for tp, end in self._asked.items() if tp in wanted}
        self.starts = {tp: start for tp, start in self.starts.items() if tp in paused}
        self.log_starts = {tp: start for tp, start in self.log_starts.items() if tp in begins}
        try:
            self._asked |= self._ask(wanted, OFFSET_END)
            self.log_starts |= self._ask(begins if is_due else set(paused), OFFSET_BEGINNING)
            if new := set(paused) - set(self.starts):
                self.starts |= self._ask(new, self._policy.place(time.time_ns() // 1_000_000))
                found = self._consumer.committed([KafkaPartition(*tp) for tp in sorted(new)], timeout=_ANSWER_S)
                self.starts |= _offsets(found)
        except KafkaException as error:
            _LOG.debug("Brokers did not tell where partitions begin and end: %s", error)

    def _ask(self, partitions: Collection[TopicPartition], which: int) -> dict[TopicPartition, int]:
        if not partitions:
            return {}
        wanted = [KafkaPartition(*tp, which) for tp in sorted(partitions)]
        return _offsets(self._consumer.offsets_for_times(wanted, timeout=_ANSWER_S))


def _offsets(found: Collection[KafkaPartition]) -> dict[TopicPartition, int]:
    return {TopicPartition(p.topic, p.partition): p.offset for p in found if p.error is None and p.offset >= 0}
