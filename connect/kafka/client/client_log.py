"""Turns librdkafka's log lines into Python log records, without the flood of lines while no broker answers."""

from __future__ import annotations

import logging
import re
import time
from typing import Final

_SAME_S: Final = 60.0
_VARYING: Final = re.compile(r"\d+ms|#\w+-\d+")


class _OncePerMinute(logging.Filter):
    """Lets a line pass once a minute, even if its numbers change. Else a lost broker is logged 20 times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now_s = time.monotonic()
        line = _VARYING.sub("", record.getMessage())
        if now_s - self._passed_s.get(line, -_SAME_S) < _SAME_S:
            return False
        if len(self._passed_s) > 1000:
            self._passed_s.clear()
        self._passed_s[line] = now_s
        return True


def client_logger(name: str) -> logging.Logger:
    """Return the logger to hand to a client; it is the same one for the same name."""
    logger = logging.getLogger(f"connect.kafka.client.{name}")
    if not logger.filters:
        logger.addFilter(_OncePerMinute())
    return logger
