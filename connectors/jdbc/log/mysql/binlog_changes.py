"""Collects changed rows of a binary log, table by table, before they become events. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from connectors.jdbc.log.binlog.packets import Operation
from connectors.jdbc.log.binlog.position import BinlogPosition, Row
from connectors.jdbc.log.binlog.row_layout import Images, numbers
from connectors.jdbc.log.mysql.tables import LoggedRows

NONE = -1
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_END_BYTES = 7
_NO_END = [seconds << 24 | 999_999 for seconds in (0x7FFFFFFF, 0xFFFFFFFF)]
"""The row's end in the history is the last moment of TIMESTAMP(6) while the row is there, the second one from MariaDB
11.5 on.
"""


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
    """Holds each change's number among the changes of all tables in its transaction."""
    of_table: Indices
    """Holds each change's number among the changes of its table in its transaction."""

    def __len__(self) -> int:
        return len(self.event)

    def take(self, rows: slice | npt.NDArray[np.bool_]) -> Changes:
        """Return these changes."""
        names = ("event", "in_event", "operation", "before", "after", "transaction", "row", "of_table")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


@dataclass(frozen=True, slots=True)
class EventNumbers:
    """Holds for each event its transaction, and how many rows precede its rows there: of all tables, and of its own."""

    transaction: Indices
    before: Indices
    before_of_table: Indices


class RowNumbers:
    """Numbers the rows of transactions across the chunks in which these are read. Owned by the reading thread."""

    def __init__(self) -> None:
        self.open_rows = 0
        """The transaction that is open behind the last chunk has so many rows until there."""
        self.open_rows_by_table: dict[str, int] = {}
        """Holds the same number for each table."""

    def of_events(
        self, transactions: Indices, tables: Sequence[str], counts: Indices, open_: int | None
    ) -> EventNumbers:
        """Return the numbers of a chunk's events: of each, the transaction, the table, and how many rows it changed.

        `open_` is the transaction that is open behind them, or None if none is. Transaction 1 is the one that was open
        before, if one was.
        """
        places = {name: place for place, name in enumerate(dict.fromkeys(tables))}
        table = np.array([places[name] for name in tables], np.int64)
        begun = np.array([self.open_rows_by_table.get(name, 0) for name in places], np.int64)
        is_first = transactions == 1
        before = _preceding(counts, transactions) + np.where(is_first, self.open_rows, 0)
        of_table = _preceding(counts, transactions * (len(places) + 1) + table)
        of_table += np.where(is_first, begun[table], 0)
        if open_ != 1:
            self.open_rows, self.open_rows_by_table = 0, {}
        if open_ is not None:
            of_open = transactions == open_
            self.open_rows += int(counts[of_open].sum())
            for name, place in places.items():
                rows = int(counts[of_open & (table == place)].sum())
                if rows:
                    self.open_rows_by_table[name] = self.open_rows_by_table.get(name, 0) + rows
        return EventNumbers(transactions, before, of_table)


def _preceding(counts: Indices, groups: Indices) -> Indices:
    """Return for each event how many rows the events before it have that are in its group."""
    order = np.argsort(groups, kind="stable")
    sorted_groups, sorted_counts = groups[order], counts[order]
    before = np.cumsum(sorted_counts) - sorted_counts
    found = np.empty_like(before)
    found[order] = before - before[np.searchsorted(sorted_groups, sorted_groups)]
    return found


def numbered(collected: Collected, images: Images, given: EventNumbers) -> Changes:
    """Return the changes of one table, numbered within their transactions."""
    told = np.array(collected.told, np.int64)
    paired = told[:, 1] == Operation.UPDATE
    counts = images.per_event // np.where(paired, 2, 1)
    event = np.repeat(np.arange(len(told)), counts)
    in_event = np.arange(len(event)) - np.repeat(np.cumsum(counts) - counts, counts)
    operation = told[event, 1].astype(np.uint8)
    first = (np.cumsum(images.per_event) - images.per_event)[event] + in_event * np.where(paired, 2, 1)[event]
    number = told[event, 0]
    changes = Changes(
        collected.rows,
        images,
        event,
        in_event,
        operation,
        np.where(operation == Operation.INSERT, NONE, first),
        np.where(operation == Operation.DELETE, NONE, first + paired[event]),
        given.transaction[number],
        given.before[number] + in_event + 1,
        given.before_of_table[number] + in_event + 1,
    )
    return of_present_rows(changes) if collected.rows.has_history else changes


def of_present_rows(changes: Changes) -> Changes:
    """Return the changes of the rows that a table WITH SYSTEM VERSIONING shows, without the columns of the history.

    MariaDB logs how it stores the history, too: a row that is changed or deleted stays with the time of its end.
    """
    *columns, _, ends = changes.images.columns
    is_present = np.isin(numbers(ends.buffer, _END_BYTES, ends.at, order=">"), _NO_END)
    old, new = (
        (places >= 0) & is_present[np.maximum(places, 0)] if len(is_present) else places >= 0
        for places in (changes.before, changes.after)
    )
    operation = changes.operation.copy()
    operation[old & ~new] = Operation.DELETE
    operation[new & ~old] = Operation.INSERT
    present = replace(
        changes,
        images=replace(changes.images, columns=columns),
        operation=operation,
        before=np.where(old, changes.before, NONE),
        after=np.where(new, changes.after, NONE),
    )
    return present.take(old | new)


def undelivered(changes: Changes, collected: Collected, position: BinlogPosition) -> Mask:
    """Return which changes were not delivered before, as the position at which the reader began says."""
    done, row = position.ahead.get(changes.rows.table.name.full, Row()), changes.of_table
    if position.numbered is None:
        done, row = max(done, position.reached), changes.row
    same = changes.transaction == done.transaction
    found: Mask = (changes.transaction > done.transaction) | (same & (row > done.row))
    skipped = np.array([facts.skipped for facts in collected.told], np.int64)
    if skipped.any():
        found &= changes.in_event >= skipped[changes.event]
    return found
