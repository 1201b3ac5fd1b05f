"""Levels of this process's loggers, by Kafka Connect's names, and when each was last set.

Setting a level is by prefix, as in Kafka Connect: every logger that exists below the named one gets it too.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ROOT: Final = "root"
LEVELS: Final[Mapping[str, int]] = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
    "ALL": 1,
}
"""Kafka Connect's level names, from silent to loud, and Python's numbers for them."""


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """A logger's level in effect; `last_modified_ms` is epoch milliseconds, None: not set since the start."""

    level: str
    last_modified_ms: int | None


class LogLevels:
    """Any thread may call it. `logging` itself is the state; only the times are kept here."""

    def __init__(self) -> None:
        self._modified_ms: dict[str, int] = {}
        self._lock = threading.Lock()

    def all(self) -> dict[str, LoggerLevel]:
        """Every logger there is, by name."""
        return {name: self._level(name, logger) for name, logger in sorted(_loggers().items())}

    def get(self, name: str) -> LoggerLevel | None:
        """A logger's level; None when there is no such logger."""
        logger = _loggers().get(name)
        return None if logger is None else self._level(name, logger)

    def set(self, name: str, level: str) -> list[str]:
        """Set the level, one of LEVELS, of a logger and of all below it; the names that were set, sorted."""
        number = LEVELS[level]
        with self._lock:
            logging.getLogger(None if name == ROOT else name)
            changed = [(n, logger) for n, logger in _loggers().items() if name in {ROOT, n} or n.startswith(f"{name}.")]
            now_ms = time.time_ns() // 1_000_000
            for changed_name, logger in changed:
                logger.setLevel(number)
                self._modified_ms[changed_name] = now_ms
        return sorted(changed_name for changed_name, _ in changed)

    def _level(self, name: str, logger: logging.Logger) -> LoggerLevel:
        number = logger.getEffectiveLevel()
        level = next((known for known, least in LEVELS.items() if number >= least), "ALL")
        return LoggerLevel(level, self._modified_ms.get(name))


LOG_LEVELS: Final = LogLevels()
"""The levels of this process."""


def _loggers() -> dict[str, logging.Logger]:
    known = dict(logging.root.manager.loggerDict)
    found = {name: logger for name, logger in known.items() if isinstance(logger, logging.Logger)}
    return {ROOT: logging.root, **found}
