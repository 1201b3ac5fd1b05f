"""How full the node's folder for change data capture is: at its limit the node refuses writes, or deletes segments."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

log = logging.getLogger(__name__)

WARN_SHARE: Final = 0.5
ALARM_SHARE: Final = 0.8
_LOOK_S: Final = 1.0
_SIZE: Final = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?")
_UNITS: Final = {None: 2**20, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""A number alone counts mebibytes, as in Cassandra 4.0."""
_SETTINGS: Final = (
    "SELECT name, value FROM system_views.settings "
    "WHERE name IN ('cdc_total_space', 'cdc_total_space_in_mb', 'cdc_block_writes')"
)


class Rows(Protocol):
    """Who answers small queries."""

    def rows(self, query: str, *, doing: str) -> list[tuple[Any, ...]]:
        """The rows of an answer."""


@dataclass(frozen=True, slots=True)
class Limit:
    """size_bytes: the node's cdc_total_space. blocks_writes: at it writes are refused; else segments are deleted."""

    size_bytes: int
    blocks_writes: bool


def read_limit(database: Rows) -> Limit | None:
    """The node's limit by its own settings; None: it does not say."""
    settings = dict(database.rows(_SETTINGS, doing="asking for the limit of change data capture"))
    return limit_of(settings)


def limit_of(settings: dict[str, str | None]) -> Limit | None:
    """The limit in these settings of a node."""
    text = settings.get("cdc_total_space") or settings.get("cdc_total_space_in_mb") or ""
    found = _SIZE.fullmatch(text.strip())
    if found is None or not int(found[1]):
        return None
    return Limit(int(found[1]) * _UNITS[found[2]], settings.get("cdc_block_writes") != "false")


class DiskWatch:
    """Says when the folder fills up, and when it does no more. Owned by the task thread."""

    def __init__(self, size_bytes: Callable[[], int], limit: Limit | None) -> None:
        self._measure = size_bytes
        self.limit = limit
        self.size_bytes = 0
        self._share = 0.0
        self._next_s = 0.0

    @property
    def alarm(self) -> int:
        """0: there is room; 1: half of it is taken; 2: four fifths, and soon the node does what its limit says."""
        return (self._share >= WARN_SHARE) + (self._share >= ALARM_SHARE)

    def look(self) -> None:
        """Measure once a second."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _LOOK_S
        self.size_bytes = self._measure()
        if self.limit is not None:
            before, self._share = self._share, self.size_bytes / self.limit.size_bytes
            self._say(before, self.limit)

    def _say(self, before: float, limit: Limit) -> None:
        for share, say in ((ALARM_SHARE, log.error), (WARN_SHARE, log.warning)):
            if before < share <= self._share:
                then = "refuses writes to these tables" if limit.blocks_writes else "deletes what was not read"
                say(
                    "cdc_raw holds %d of %d bytes (%d %%): when it is full the node %s. See why Kafka does not take "
                    "the changes, or raise cdc_total_space.",
                    self.size_bytes, limit.size_bytes, 100 * self._share, then,
                )  # fmt: skip
                return
        if self._share < WARN_SHARE <= before:
            log.info("cdc_raw holds %d of %d bytes again.", self.size_bytes, limit.size_bytes)
