"""Reads signals from a topic of Kafka: records whose key is the connector's topic.prefix, and whose value is JSON."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from connect.api.errors import RetriableError, SchemaError
from connect.api.topics import TopicRecord, TopicRecords
from connect.lib.deadline import Deadline
from connectors.jdbc.log.incremental.signals import Found, Signal, read_text

_log = logging.getLogger(__name__)
_BEGIN_S: Final = 10.0
_POLL_S: Final = 0.01


class TopicSignals:
    """Reads one topic at an interval. Owned by the reading thread.

    The place in the topic is stored in the connector's offset, together with the tables that its signals ask for, so
    that each signal counts once.
    """

    def __init__(self, open_: Callable[[], TopicRecords], topic: str, prefix: str, interval_s: float) -> None:
        self._open = open_
        self._topic = topic
        self._prefix = prefix
        self._interval_s = interval_s
        self._records: TopicRecords | None = None
        self._at: int | None = None
        """This is the offset that is read next, or None if it has to be asked for."""
        self._next_s = 0.0

    def __call__(self, topic_offset: int | None) -> Found:
        """Return the signals that have come, if it is time to look. Go on at `topic_offset`, or at the topic's end if
        that is None.

        ConfigError: a setting of the client is not allowed.
        """
        now_s = time.monotonic()
        if now_s < self._next_s:
            return Found()
        self._next_s = now_s + self._interval_s
        try:
            return self._read(topic_offset)
        except RetriableError as error:
            _log.warning("Signals of topic %s are not read now: %s", self._topic, error)
            self._at = None
            return Found()

    def _read(self, topic_offset: int | None) -> Found:
        self._records = self._records or self._open()
        if self._at is None or self._at != topic_offset:
            self._at = self._records.begin(topic_offset, Deadline.after(_BEGIN_S))
        found = self._records.poll(Deadline.after(_POLL_S))
        if found:
            self._at = found[-1].offset + 1
        return Found(list(self._signals(found)), self._at)

    def _signals(self, found: Sequence[TopicRecord]) -> Iterator[Signal]:
        for record in found:
            # Several connectors may share a topic, so signals for other connectors are left out.
            if record.key != self._prefix.encode() or record.value is None:
                continue
            try:
                yield read_text(record.value.decode())
            except (SchemaError, UnicodeDecodeError) as error:
                _log.warning("The record %d of topic %s is no signal. %s", record.offset, self._topic, error)
