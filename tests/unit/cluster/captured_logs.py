"""Keeps the log lines of a block of a test as their fields."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OWN = {*logging.makeLogRecord({}).__dict__, "message", "asctime"}


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """Yield the lines of the product that are logged meanwhile, of every thread and level."""
    found: list[dict[str, Any]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            fields = {name: value for name, value in record.__dict__.items() if name not in _OWN}
            found.append({"event": record.getMessage(), **fields, "log_level": record.levelname.lower()})

    logger, handler = logging.getLogger("connect.cluster"), Keep()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
