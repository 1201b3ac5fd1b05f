"""Holds levels of this process's loggers, by Kafka Connect's names, and when each was last set.

Setting a level is by prefix, as in Kafka Connect: every logger that exists below the named one gets it too.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_logger = logging.getLogger(__name__)
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
"""Gives Kafka Connect's level names, from silent to loud, and Python's numbers for them."""

_NAME_CHARS_MAX: Final = 255
_NEW_NAMES_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """Holds a logger's level in effect. `last_modified_ms` is epoch milliseconds, None if not set since the start."""

    level: str
    last_modified_ms: int | None


OnSet = Callable[[str, str], None]
"""Is called with a logger and its new level, on the thread that set it."""


class LogLevels:
    """Sets and tells levels; any thread may call it.

    `logging` itself is the state; only times and what was set are kept here.
    """

    def __init__(self) -> None:
        self._modified_ms: dict[str, int] = {}
        self._settings: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._made: set[str] = set()
        self._on_set: list[OnSet] = []
        self._lock = threading.RLock()

    def all(self) -> dict[str, LoggerLevel]:
        """Return every logger there is, by name."""
        return {name: self._level(name, logger) for name, logger in sorted(_loggers().items())}

    def get(self, name: str) -> LoggerLevel | None:
        """Return a logger's level; None when there is no such logger."""
        logger = _loggers().get(name)
        return None if logger is None else self._level(name, logger)

    def refusal(self, name: str) -> str | None:
        """Return why a logger of this name may not be set from outside; None if it may.

        Loggers are never forgotten, so names that no code has are bounded in length and number.
        """
        if len(name) > _NAME_CHARS_MAX:
            return f"The logger's name has {len(name)} characters. At most {_NAME_CHARS_MAX} are taken."
        if not name.isprintable() or "\ufffd" in name:
            return f"The logger's name {name!a} has characters that no name has, such as control characters."
        if len(self._made) >= _NEW_NAMES_MAX and name not in _loggers():
            return (
                f"No logger is called {name}, and {_NEW_NAMES_MAX} names that no code had were set since this worker "
                "began. Set one that GET /admin/loggers lists, or restart the worker."
            )
        return None

    def set(self, name: str, level: str) -> list[str]:
        """Set the level, one of LEVELS, of a logger and of all below it; return the names that were set, sorted."""
        number = LEVELS[level]
        with self._lock:
            if name not in _loggers():
                self._made.add(name)
            logging.getLogger(None if name == ROOT else name)
            self._settings = {n: known for n, known in self._settings.items() if not _covers(name, n)} | {name: level}
            changed = {n: logger for n, logger in _loggers().items() if _covers(name, n)}
            meant = {self._aliases[n] for n in changed if n in self._aliases} - changed.keys()
            now_ms = time.time_ns() // 1_000_000
            for changed_name, logger in changed.items():
                logger.setLevel(number)
                self._modified_ms[changed_name] = now_ms
            for listener in self._on_set:
                listener(name, level)
            also = [below for own in sorted(meant) for below in self.set(own, level)]
        return sorted({*changed, *also})

    def set_as_told(self, name: str, level: str) -> None:
        """Set the level that another worker tells. A logger that may not be set here is logged and left out."""
        if level not in LEVELS:
            _logger.warning("log_level_unknown", extra={"logger_name": name[:_NAME_CHARS_MAX], "unknown": level})
        elif (refusal := self.refusal(name)) is not None:
            _logger.warning("logger_not_set", extra={"reason": refusal})
        else:
            self.set(name, level)

    def name(self, names: Iterable[str]) -> None:
        """Make loggers of these names, as they exist in other processes that follow these levels."""
        for name in names:
            logging.getLogger(None if name == ROOT else name)

    def alias(self, name: str, own: str) -> None:
        """Let the logger `own` follow `name`: a level set for `name`, or a logger above it, is one of `own`."""
        with self._lock:
            self._aliases[name] = own
            logging.getLogger(name)

    def follow(self, listener: OnSet) -> None:
        """Call the listener with all levels that are set and still count, in order, and with each later one."""
        with self._lock:
            for name, level in self._settings.items():
                listener(name, level)
            self._on_set.append(listener)

    def unfollow(self, listener: OnSet) -> None:
        """Stop calling the listener. Do nothing if it does not follow."""
        with self._lock:
            if listener in self._on_set:
                self._on_set.remove(listener)

    def _level(self, name: str, logger: logging.Logger) -> LoggerLevel:
        number = logger.getEffectiveLevel()
        level = next((known for known, least in LEVELS.items() if number >= least), "ALL")
        return LoggerLevel(level, self._modified_ms.get(name))


def _covers(name: str, other: str) -> bool:
    return name in {ROOT, other} or other.startswith(f"{name}.")


LOG_LEVELS: Final = LogLevels()
"""Holds the levels of this process."""


def _loggers() -> dict[str, logging.Logger]:
    known = dict(logging.root.manager.loggerDict)
    found = {name: logger for name, logger in known.items() if isinstance(logger, logging.Logger)}
    return {ROOT: logging.root, **found}
