"""Finds the topics that a Java regular expression matches now. librdkafka's expressions lack \\d and (?:…)."""

from __future__ import annotations

import time
from typing import Final

from confluent_kafka import Consumer, KafkaException

from connect.lib.deadline import Deadline
from connect.lib.javatext.regex import compile_pattern

_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""These are Kafka's own topics. In Java, too, exclude.internal.topics keeps them from matching."""
_EMPTY_S: Final = 2.0
_LOOK_S: Final = 2.0


class TopicPattern:
    """Looks for matching topics from time to time, on the consumer's thread.

    confluent_kafka lets only one thread at a time into a client, so another thread would wait for ever.
    """

    def __init__(self, consumer: Consumer, expression: str, *, refresh_s: float) -> None:
        self._consumer = consumer
        self._expression = compile_pattern(expression)
        self._refresh_s = refresh_s
        self._names: frozenset[str] = frozenset()
        self._next_s = 0.0

    def changed(self, deadline: Deadline) -> frozenset[str] | None:
        """Return the matching topics if it is time to look and they have changed, else None."""
        if time.monotonic() < self._next_s:
            return None
        try:
            topics = self._consumer.list_topics(timeout=min(_LOOK_S, max(0.1, deadline.remaining_s))).topics
            found = frozenset(n for n in topics if n not in _INTERNAL and self._expression.fullmatch(n))
        except KafkaException:  # no broker answers, so the topics that matched before still count
            found = self._names
        self._next_s = time.monotonic() + (self._refresh_s if found else min(_EMPTY_S, self._refresh_s))
        if found == self._names:
            return None
        self._names = found
        return found
