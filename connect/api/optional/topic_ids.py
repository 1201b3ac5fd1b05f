"""The ids of the topics that a sink reads: what tells an offset from the same one of a topic that was made anew."""

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
"""An id that is as young holds for the first records of a partition, too: those of all partitions come together."""


class TopicIds:
    """Asks for the id of a topic once, and again when the topic may have been made anew. Owned by the task thread."""

    def __init__(self, ask: Callable[[str, Deadline], str | None], now_s: Callable[[], float] = time.monotonic) -> None:
        """Look topics up by `ask`, which is `SinkContext.topic_id`. `now_s` is a clock that never goes back."""
        self._ask = ask
        self._now_s = now_s
        self._asked_s: dict[str, float] = {}
        self._ids: dict[str, str | None] = {}
        self._last: dict[str, str | None] = {}
        self._next: dict[TopicPartition, int] = {}

    def of(self, topic: str, deadline: Deadline) -> str | None:
        """Return the id of a topic; None where the brokers give none. RetriableError: no broker answers."""
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
        """Return the batch with the id of its topic, asked for again where it may be of a topic that was made anew.

        It may, where its offsets have gone back, and where no record of its partition was seen before.
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
        """Ask again for the topics of these partitions, as they may be made anew while another task reads them."""
        for partition in partitions:
            self._ids.pop(partition.topic, None)
            self._next.pop(partition, None)
