"""Reads signals from a file, whose lines are JSON of the members id, type and data, as Debezium does."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import SchemaError
from connectors.jdbc.log.incremental.signals import Signal, read_text

_log = logging.getLogger(__name__)


class FileSignals:
    """Takes the lines out of one file at an interval. Owned by the reading thread."""

    def __init__(self, allowed: AllowedPaths, path: str, interval_s: float) -> None:
        self._allowed = allowed
        self._path = path
        self._interval_s = interval_s
        self._next_s = 0.0

    def __call__(self) -> Sequence[Signal]:
        """Return the signals in the file, if it is time to look, and empty the file.

        ConfigError: the path leads to a file that no configuration may name.
        """
        now_s = time.monotonic()
        if now_s < self._next_s:
            return ()
        self._next_s = now_s + self._interval_s
        try:
            with os.fdopen(self._allowed.open("signal.file", self._path, os.O_RDWR), "r+b") as file:
                lines = file.read().decode().splitlines()
                file.truncate(0)
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            _log.warning("signal.file %s cannot be read: %s", self._path, error)
            return ()
        return list(_signals(lines))


def _signals(lines: Sequence[str]) -> Iterator[Signal]:
    for line in filter(str.strip, lines):
        try:
            yield read_text(line)
        except SchemaError as error:
            _log.warning("A line of signal.file is left out. %s", error)
