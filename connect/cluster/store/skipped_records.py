"""Logs the unreadable records of an internal topic, each key once, as somebody may have planted a million of them."""

from __future__ import annotations

import logging
from typing import Final

KEYS_MAX: Final = 1000
"""This many keys are named; then it is logged once that there are more."""
_SHOWN_BYTES: Final = 200

_logger = logging.getLogger(__name__)


class SkippedRecords:
    """Remembers which keys were named. Owned by the thread that reads the topic."""

    def __init__(self, topic: str) -> None:
        """Take the word for the topic with which the names of its log lines begin."""
        self._event = f"{topic}_record_skipped"
        self._named: set[bytes] = set()

    def add(self, key: bytes | None, partition: int, offset: int, reason: str) -> None:
        """Take note of a record that is skipped."""
        begin = (key or b"")[:_SHOWN_BYTES]
        if begin in self._named or len(self._named) > KEYS_MAX:
            return
        self._named.add(begin)
        told = {"key": begin.decode(errors="backslashreplace"), "partition": partition, "offset": offset}
        if len(self._named) > KEYS_MAX:
            reason = f"{reason}; further keys that are none are not named"
        _logger.warning(self._event, extra={**told, "reason": reason})
