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

from connect.api.records import Batch, Consumed, TopicPartition
from connect.lib.deadline import Deadline

_log = logging.getLogger(__name__)
_FRESH_S: Final = 1.0
"""An id that was asked for less than this many seconds ago also counts for a partition whose first records come now:
the first records of all partitions of a topic come at about the same time.
"""
_LOOK_S: Final = 10.0
"""The id of a topic that is read without a break is asked for so often. A topic may be made anew, and be filled beyond
the place of its reader, before the reader looks: then its offsets go on.
"""
HasRecord = Callable[[TopicPartition, int, int, Deadline], bool]


class TopicIds:
    """Asks for the id of a topic once, and again when the topic may have been made anew. The task thread owns it."""

    def __init__(
        self,
        ask: Callable[[str, Deadline], str | None],
        now_s: Callable[[], float] = time.monotonic,
        has_record: HasRecord | None = None,
    ) -> None:
        """Look topics up by `ask`, which is `SinkContext.topic_id`. `now_s` is a clock that never goes back.

        With `has_record`, which is `SinkContext.has_record`, a topic is also looked up while its offsets go on.
        """
        self._ask = ask
        self._now_s = now_s
        self._has_record = has_record
        self._asked_s: dict[str, float] = {}
        self._ids: dict[str, str | None] = {}
        self._last: dict[str, str | None] = {}
        self._next: dict[TopicPartition, int] = {}
        self._given: dict[TopicPartition, str | None] = {}
        self._looked_s: dict[TopicPartition, float] = {}

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

        That may be so if offsets have gone back, or if no record of the partition was seen before. Where offsets go on,
        at most the rows of `_LOOK_S` seconds and one more batch still have the id of the former topic.
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
        if known is None or is_doubtful or self._has_record is None:
            topic_id = self.of(partition.topic, deadline)
            self._looked_s[partition] = self._now_s()
        else:
            topic_id = self._going_on(batch, consumed, self._has_record, deadline)
        self._next[partition], self._given[partition] = consumed.next_offset, topic_id
        return replace(batch, consumed=replace(consumed, topic_id=topic_id))

    def _going_on(self, batch: Batch, consumed: Consumed, has_record: HasRecord, deadline: Deadline) -> str | None:
        """Return the id for rows behind those that came before of a partition.

        They may have been read before their topic was made anew, and have waited since. So they have the former id
        unless the topic of now has the first of them.
        """
        partition, now_s = consumed.topic_partition, self._now_s()
        given = self._given[partition]
        first_ms = batch.timestamps_ms[0].as_py() if batch.timestamps_ms is not None and len(batch) else None
        wait_s = _LOOK_S if self._ids.get(partition.topic) in {None, given} else _FRESH_S
        if given is None or first_ms is None or now_s - self._looked_s[partition] < wait_s:
            return given
        if now_s - self._asked_s[partition.topic] >= _LOOK_S:
            self._ids.pop(partition.topic, None)
        found = self.of(partition.topic, deadline)
        is_anew = found not in {None, given} and has_record(partition, consumed.offsets[0].as_py(), first_ms, deadline)
        self._looked_s[partition] = now_s
        return found if is_anew else given

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the ids of these partitions' topics, which may be made anew while another task reads the
        partitions.
        """
        for partition in partitions:
            self._ids.pop(partition.topic, None)
            self._next.pop(partition, None)
            self._given.pop(partition, None)
