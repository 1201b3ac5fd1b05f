"""Remembers which topics a task touched lately, so that the worker can remember them, also after they were reset."""

from __future__ import annotations


class UsedTopics:
    """Keeps the topics that a task used.

    Filled by the task thread batch by batch, emptied by whoever reports. A topic in use comes back each time.
    """

    def __init__(self) -> None:
        self._topics: set[str] = set()

    def add(self, topic: str) -> None:
        """Add a topic that the task wrote to, or read from."""
        self._topics.add(topic)

    def take(self) -> list[str]:
        """Return the topics used since the last call, sorted, and forget them."""
        taken, self._topics = self._topics, set()
        return sorted(taken)
