"""Looks up the ids of the topics that a sink reads.

A topic that is deleted and made anew has another id. So the id tells an offset of the old topic from the same offset of
the new one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline

_log = logging.getLogger(__name__)
_FRESH_S: Final = 1.0
"""An id that was asked for less than this many seconds ago also counts for a partition whose first records come now:
the first records of all partitions of a topic come at about the same time.
"""


class TopicIds:
    """Asks for the id of a topic once, and again when the topic may have been made anew. The task thread owns it."""

    def __init__(self, ask: Callable[[str, Deadline], str | None], now_s: Callable[[], float] = time.monotonic) -> None:
        """Look topics up by `ask`, which is `SinkContext.topic_id`. `now_s` is a clock that never goes back."""
        self._ask = ask
        self._now_s = now_s
        self._asked_s: dict[str, float] = {}
        self._ids: dict[str, str | None] = {}
        self._last: dict[str, str | None] = {}
        self._next: dict[TopicPartition, int] = {}

    def of(self, topic: str, deadline: Deadline) -> str | None:
        """Return the id of a topic; None if the brokers give none. RetriableError: no broker answers."""
        if topic not in self._ids:
            asked_s = self._now_s()
            found = self._ids[topic] = self._ask(topic, deadline)
            self._asked_s[topic] = asked_s
            before = self._last.get(topic)
            if None not in {before, found} and before != found:
                _log.warning("Topic %s was made anew: its id is %s, and was %s.", topic, found, before)
            self._last[topic] = found
        return self._ids[topic]

    def placed(self, batch: Batch, deadline: Deadline) -> Batch:
        """Return the batch with the id of its topic, and ask for the id again if the topic may have been made anew.

        That may be so if offsets have gone back, or if no record of the partition was seen before.
        """
        consumed = batch.consumed
        assert consumed is not None
        partition = consumed.topic_partition
        known = self._next.get(partition)
        if known is None:
            is_doubtful = self._now_s() - self._asked_s.get(partition.topic, 0.0) >= _FRESH_S
        else:
            is_doubtful = len(batch) > 0 and consumed.offsets[0].as_py() < known
        if is_doubtful:
            self._ids.pop(partition.topic, None)
        topic_id = self.of(partition.topic, deadline)
        self._next[partition] = consumed.next_offset
        return replace(batch, consumed=replace(consumed, topic_id=topic_id))

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the ids of these partitions' topics, which may be made anew while another task reads the
        partitions.
        """
        for partition in partitions:
            self._ids.pop(partition.topic, None)
            self._next.pop(partition, None)
