"""Makes heartbeats: records at an interval, and batches without rows that only move the position. No I/O."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from connect.api import schema as s
from connect.api.records import Batch, Column
from connectors.jdbc.settings.config import JdbcSourceConfig

_PACKAGE: Final = "io.debezium.connector.common."
_KEY = replace(s.struct({"serverName": s.STRING}, name=f"{_PACKAGE}ServerNameKey"), version=1)
_VALUE = replace(s.struct({"ts_ms": s.INT64}, name=f"{_PACKAGE}Heartbeat"), version=1)
_MOVE_S: Final = 10.0


class Heartbeat:
    """Tells when a heartbeat is to be sent, and makes it. Owned by the reading thread."""

    def __init__(self, config: JdbcSourceConfig, topic: str = "") -> None:
        """Take the settings. `topic` is the heartbeat topic, or is empty if the settings name it."""
        self._topic = topic or f"{config.heartbeat_topic_prefix}.{config.topic_prefix}"
        self._prefix = config.topic_prefix
        self._interval_s = config.heartbeat_interval_ms / 1000
        self._beat_at_s = time.monotonic() + self._interval_s
        self._move_at_s = time.monotonic() + _MOVE_S
        self._moved_to: object = None

    def due(self, place: object) -> Batch | None:
        """Return a heartbeat if it is time for one; else a batch without rows if `place` has moved.

        Return None if nothing is due.
        """
        now_s = time.monotonic()
        if self._interval_s and now_s >= self._beat_at_s:
            self._beat_at_s = now_s + self._interval_s
            values = [{"ts_ms": time.time_ns() // 1_000_000}]
            keys = Column.from_rows([{"serverName": self._prefix}], _KEY)
            return Batch(self._topic, Column.from_rows(values, _VALUE), keys=keys)
        if now_s < self._move_at_s:
            return None
        self._move_at_s = now_s + _MOVE_S
        if place == self._moved_to:
            return None
        self._moved_to = place
        return self.nothing()

    def nothing(self) -> Batch:
        """Return a batch without rows, which only moves the position."""
        return Batch(self._topic, Column.from_rows([], _VALUE))
