"""Tells how rows of a database are followed by ids and timestamps: its clock, and the forms of its moments."""

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
    """Columns of these kinds may hold timestamps as well."""
    orders_commits: bool = False
    """True if ids are in the order of commits, as there is one writer at a time."""
    holds_writers: bool = False
    """True if a statement that is being read keeps writers out, so that reading goes page by page."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock: an instant with its zone, or in UTC."""
        return sa.func.current_timestamp()

    def form(self, sample: Callable[[], Any], column: str, zone: ZoneInfo, *, are_instants: bool) -> TimestampForm:
        """Return how a moment is compared with a column of timestamps. `sample`: asks for one of its values."""
        del sample, column
        return DateTimes(None if are_instants else zone)
