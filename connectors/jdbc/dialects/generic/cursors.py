"""Tells how new rows are found by ids and timestamps: by which clock, and how moments are written in conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from connectors.jdbc.database.cursor_comparison import DateTimes, TimestampForm
from connectors.jdbc.values.types import Raw


class Cursors:
    """Tells how rows of a database that is not known are followed."""

    has_times: bool = True
    """True if timestamps have a type of their own, and are not text or numbers."""
    further_timestamps: frozenset[Raw] = frozenset()
    """A timestamp column may be of these kinds, too, beside the database's own types for timestamps."""
    orders_commits: bool = False
    """True if rows are committed in the order of their ids, as there is one writer at a time."""
    holds_writers: bool = False
    """True if writers wait while a statement's rows are read. Then each page is read by a separate statement."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock: an instant with its zone, or in UTC."""
        return sa.func.current_timestamp()

    def form(self, sample: Callable[[], Any], column: str, zone: ZoneInfo, *, are_instants: bool) -> TimestampForm:
        """Return the form in which a moment is compared with a timestamp column.

        `sample` reads one value of the column. A column without instants holds wall-clock times of `zone`.
        """
        del sample, column
        return DateTimes(None if are_instants else zone)
