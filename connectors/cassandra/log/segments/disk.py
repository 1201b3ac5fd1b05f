"""Watches how full the node's CDC folder is: at its limit the node refuses writes, or deletes segments."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from connectors.cassandra.cql.queries import Queries

log = logging.getLogger(__name__)

WARN_SHARE: Final = 0.5
ALARM_SHARE: Final = 0.8
_LOOK_S: Final = 1.0
_SIZE: Final = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?")
_UNITS: Final = {None: 2**20, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""A number without a unit means mebibytes, as in Cassandra 4.0."""
_SETTINGS: Final = (
    "SELECT name, value FROM system_views.settings "
    "WHERE name IN ('cdc_total_space', 'cdc_total_space_in_mb', 'cdc_block_writes')"
)


class Measured(Protocol):
    """A folder of segments whose size is watched."""

    def size_bytes(self) -> int:
        """Return what its segments take of the node's cdc_total_space."""

    def count_damaged(self) -> int:
        """Return how many segments are kept, as they could not be read whole."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of the folder's size, which the node has.

    size_bytes: the node's cdc_total_space. blocks_writes: at it writes are refused; else segments are deleted.
    """

    size_bytes: int
    blocks_writes: bool


def read_limit(database: Queries) -> Limit | None:
    """Read the limit from the node's own settings; None where the node does not tell it."""
    settings = dict(database.rows(_SETTINGS, doing="asking for the limit of change data capture"))
    return limit_of(settings)


def limit_of(settings: dict[str, str | None]) -> Limit | None:
    """Return the limit that these settings of a node give; None where they give none."""
    text = settings.get("cdc_total_space") or settings.get("cdc_total_space_in_mb") or ""
    found = _SIZE.fullmatch(text.strip())
    if found is None or not int(found[1]):
        return None
    return Limit(int(found[1]) * _UNITS[found[2]], settings.get("cdc_block_writes") != "false")


class DiskWatch:
    """Says when the folder fills up, and when it does no more.

    It looks once a second in a thread of its own: while Kafka takes nothing, nobody polls the task.
    """

    def __init__(self, folder: Measured, limit: Limit | None, gauge: Callable[[str, float], None]) -> None:
        """Watch a folder; `gauge` is a function that sets a metric of the task."""
        self._folder = folder
        self._limit = limit
        self._gauge = gauge
        self._share = 0.0
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Measure now, and once a second until `close`. OSError: the folder cannot be measured."""
        self.look()
        # What it says in the log names connector and task, as all that the task's own thread says.
        run = partial(copy_context().run, self._run)
        self._thread = threading.Thread(target=run, name="cdc-raw-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Measure no more. May be called twice, and before `start`."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def alarm(self) -> int:
        """Return the level of the alarm: 0 below half of the limit, 1 from half on, 2 from four fifths on."""
        return (self._share >= WARN_SHARE) + (self._share >= ALARM_SHARE)

    def look(self) -> None:
        """Measure the folder, set the metrics, and log a change of level. OSError: it cannot be measured."""
        size_bytes = self._folder.size_bytes()
        self._gauge("cdc_raw_bytes", size_bytes)
        self._gauge("damaged_segments", self._folder.count_damaged())
        if self._limit is not None:
            before, self._share = self._share, size_bytes / self._limit.size_bytes
            self._gauge("cdc_raw_limit_bytes", self._limit.size_bytes)
            self._gauge("cdc_raw_alarm", self.alarm)
            self._say(before, size_bytes, self._limit)

    def _run(self) -> None:
        failure = ""
        while not self._ending.wait(_LOOK_S):
            try:
                self.look()
                failure = ""
            except OSError as error:
                if str(error) != failure:
                    log.warning("How full cdc_raw is cannot be seen: %s", error)
                failure = str(error)

    def _say(self, before: float, size_bytes: int, limit: Limit) -> None:
        for share, say in ((ALARM_SHARE, log.error), (WARN_SHARE, log.warning)):
            if before < share <= self._share:
                then = "refuses writes to these tables" if limit.blocks_writes else "deletes what was not read"
                say(
                    "cdc_raw holds %d of %d bytes (%d %%): when it is full the node %s. See why Kafka does not take "
                    "the changes, or raise cdc_total_space.",
                    size_bytes, limit.size_bytes, 100 * self._share, then,
                )  # fmt: skip
                return
        if self._share < WARN_SHARE <= before:
            log.info("cdc_raw holds %d of %d bytes again.", size_bytes, limit.size_bytes)
