"""Collects changed rows of a binary log, table by table, before they become events. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from connectors.jdbc.log.binlog.packets import Operation
from connectors.jdbc.log.binlog.row_layout import Images
from connectors.jdbc.log.mysql.tables import LoggedRows

NONE = -1
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class EventFacts(NamedTuple):
    """Holds the facts that all rows of one event of the log share. `number` is the event's number among those
    collected. `skipped` is how many of its rows were delivered before. `thread` is the session's number; -1: it is not
    known.
    """

    number: int
    operation: int
    at_us: int
    server_id: int
    pos: int
    skipped: int = 0
    thread: int = -1


@dataclass(slots=True)
class Collected:
    """Collects events of one table that have the same columns."""

    rows: LoggedRows
    contents: list[bytes] = field(default_factory=list)
    told: list[EventFacts] = field(default_factory=list)
    gtids: list[str | None] = field(default_factory=list)
    transactions: list[str] = field(default_factory=list)
    """Holds the name of each event's transaction."""
    files: list[str] = field(default_factory=list)
    hidden: list[Sequence[bool]] = field(default_factory=list)
    """Holds for each event a value per segment of the table: True if the segment's snapshot has the event's change."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Holds the changed rows of one table; each array has a value per change.

    `images` are the rows of all changes; `before` and `after` are indices of these rows, or `NONE`.
    """

    rows: LoggedRows
    images: Images
    event: Indices
    in_event: Indices
    operation: npt.NDArray[np.uint8]
    before: Indices
    after: Indices
    transaction: Indices
    row: Indices

    def __len__(self) -> int:
        return len(self.event)

    def take(self, rows: slice | npt.NDArray[np.bool_]) -> Changes:
        """Return these changes."""
        names = ("event", "in_event", "operation", "before", "after", "transaction", "row")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def numbered(collected: Collected, images: Images, transactions: Indices, number: Indices) -> Changes:
    """Return the changes of one table, numbered within their transactions.

    `transactions` and `number` have a value per event: its transaction's number, and how many rows precede its rows
    there.
    """
    told = np.array(collected.told, np.int64)
    paired = told[:, 1] == Operation.UPDATE
    counts = images.per_event // np.where(paired, 2, 1)
    event = np.repeat(np.arange(len(told)), counts)
    in_event = np.arange(len(event)) - np.repeat(np.cumsum(counts) - counts, counts)
    operation = told[event, 1].astype(np.uint8)
    first = (np.cumsum(images.per_event) - images.per_event)[event] + in_event * np.where(paired, 2, 1)[event]
    return Changes(
        collected.rows,
        images,
        event,
        in_event,
        operation,
        np.where(operation == Operation.INSERT, NONE, first),
        np.where(operation == Operation.DELETE, NONE, first + paired[event]),
        transactions[told[event, 0]],
        number[told[event, 0]] + in_event + 1,
    )
