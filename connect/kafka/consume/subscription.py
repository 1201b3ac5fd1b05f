"""Subscribes a group's member to named or matching topics, of which some may not exist yet."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from connect.kafka.client.errors import is_retriable, translate, translated
from connect.kafka.consume.assignment import RebalanceCallbacks
from connect.kafka.consume.topic_pattern import TopicPattern
from connect.lib.deadline import Deadline

_LOG = logging.getLogger("connect.kafka.consume.consumer")
_LOOK_S: Final = 10.0
_LOOK_AGAIN_S: Final = 1.0


class Subscription:
    """Joins a group and looks for topics that are made later. Owned by the consumer's thread."""

    def __init__(self, consumer: Consumer, *, refresh_s: float) -> None:
        """Take the consumer. Matching topics are looked for each `refresh_s` seconds."""
        self._consumer = consumer
        self._refresh_s = refresh_s
        self._callbacks: RebalanceCallbacks = {}
        self._pattern: TopicPattern | None = None
        self._names: frozenset[str] = frozenset()
        self._missing: set[str] = set()
        self._look_again_s: float | None = None
        self.trouble: str | None = None
        """Names the topics that do not exist, as Kafka last said; None once they exist."""

    @property
    def names(self) -> frozenset[str]:
        """Return the named or matching topics."""
        return self._names

    def begin(self, topics: Sequence[str] | str, callbacks: RebalanceCallbacks) -> None:
        """Join the group. `topics` are names, or one regular expression (Java's) that must match whole names."""
        self._callbacks = callbacks
        if isinstance(topics, str):
            self._pattern = TopicPattern(self._consumer, topics, refresh_s=self._refresh_s)
            self._follow_pattern(Deadline.after(_LOOK_S))
        else:
            self._join(topics)

    def refresh(self, deadline: Deadline) -> None:
        """If it is time, subscribe to topics that match now, and look for missing ones."""
        self._follow_pattern(deadline)
        self._look_for_missing(deadline)

    def misses(self, error: KafkaError) -> None:
        """Note what a broker says of a topic that does not exist."""
        self._look_again_s = self._look_again_s or time.monotonic() + _LOOK_AGAIN_S
        if str(error) not in self._missing:
            self._missing.add(str(error))
            _LOG.warning("Waiting for a topic: %s", error.str())
        self.trouble = f"Waiting for a topic: {error.str()}."

    def _join(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        with translated(f"subscribing to {', '.join(sorted(names))}"):
            if names:
                self._consumer.subscribe(sorted(names), **self._callbacks)
            else:
                self._consumer.unsubscribe()

    def _follow_pattern(self, deadline: Deadline) -> None:
        names = self._pattern.changed(deadline) if self._pattern is not None else None
        if names is not None:
            self._join(names)

    def _look_for_missing(self, deadline: Deadline) -> None:
        """Ask for the list of all topics while a topic is missing, as this makes librdkafka join it once it exists."""
        if self._look_again_s is None or time.monotonic() < self._look_again_s:
            return
        self._look_again_s = None
        try:
            known = self._consumer.list_topics(timeout=min(_LOOK_S, max(0.1, deadline.remaining_s))).topics
        except KafkaException as error:
            if not is_retriable(error.args[0]):
                raise translate(error.args[0], "looking for missing topics") from error
            known = {}
        missing = sorted(name for name in self._names if name not in known)
        self.trouble = f"Waiting for a topic that does not exist: {', '.join(missing[:5])}." if missing else None
        if missing:
            self._look_again_s = time.monotonic() + _LOOK_AGAIN_S
