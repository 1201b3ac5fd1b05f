"""Which topics a regular expression means now. librdkafka's own expressions know neither \\d nor (?:…), Java's do."""

from __future__ import annotations

import re
import time
from concurrent.futures import Executor, Future
from typing import Final

from confluent_kafka import Consumer, KafkaException

_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Kafka's own topics; exclude.internal.topics keeps them from matching in Java too."""
_EMPTY_S: Final = 2.0
_LOOK_S: Final = 10.0


class TopicPattern:
    """Looks for matching topics in the background, again and again. Owned by the consumer's thread."""

    def __init__(self, consumer: Consumer, expression: str, executor: Executor, *, refresh_s: float) -> None:
        self._consumer = consumer
        self._expression = re.compile(expression)
        self._executor = executor
        self._refresh_s = refresh_s
        self._look: Future[frozenset[str]] | None = None
        self._names: frozenset[str] = frozenset()
        self._next_s = 0.0

    def changed(self, wait_s: float = 0.0) -> frozenset[str] | None:
        """The matching topics if they are others than before, else None; looks anew when it is time."""
        if self._look is None:
            if time.monotonic() < self._next_s:
                return None
            self._look = self._executor.submit(self._matching)
        try:
            found = self._look.result(wait_s)
        except TimeoutError:
            return None
        except KafkaException:  # no broker now: what matched before still counts
            found = self._names
        self._look = None
        self._next_s = time.monotonic() + (self._refresh_s if found else min(_EMPTY_S, self._refresh_s))
        if found == self._names:
            return None
        self._names = found
        return found

    def _matching(self) -> frozenset[str]:
        topics = self._consumer.list_topics(timeout=_LOOK_S).topics
        return frozenset(n for n in topics if n not in _INTERNAL and self._expression.fullmatch(n))
