"""Marks the rows of a first read with the values that `snapshot` has in the source block. Pure, but reads its input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from connectors.jdbc.log.postgres.snapshot import SnapshotRows
from connectors.jdbc.log.postgres.tables import LogTable
from connectors.jdbc.log.shared.snapshot_marks import marks
from connectors.jdbc.log.shared.snapshot_segments import Fence


@dataclass(frozen=True, slots=True)
class Page:
    """Holds some rows of a table, in order. `is_first` is True if no row of the table came before."""

    table: LogTable
    rows: SnapshotRows
    fence: Fence[Any]
    is_first: bool


@dataclass(frozen=True, slots=True)
class TableEnd:
    """Tells that all rows of a table have come."""

    table: LogTable
    fence: Fence[Any]


class Marked(NamedTuple):
    """Holds a page that knows its place in the read, and the tables that end behind it; some of these may have no
    rows.
    """

    page: Page | None
    ends: list[TableEnd]


def marked(items: Iterator[Page | TableEnd], *, is_first: bool) -> Iterator[Marked]:
    """Yield each page as soon as the next page is there: only that tells which row is the last one.

    `is_first` is True if no page of this read came before.
    """
    waiting: Page | None = None
    ends: list[TableEnd] = []
    for item in items:
        if isinstance(item, TableEnd):
            ends.append(item)
            continue
        if waiting is not None or ends:
            yield Marked(
                waiting and _with_marks(waiting, is_first=is_first, ends_table=bool(ends), is_last=False), ends
            )
            is_first = is_first and waiting is None
        waiting, ends = item, []
    yield Marked(waiting and _with_marks(waiting, is_first=is_first, ends_table=True, is_last=True), ends)


def _with_marks(page: Page, *, is_first: bool, ends_table: bool, is_last: bool) -> Page:
    found = marks(
        page.rows.count,
        starts_table=page.is_first,
        starts_all=page.is_first and is_first,
        ends_table=ends_table,
        ends_all=is_last,
    )
    return replace(page, rows=replace(page.rows, marks=found))
