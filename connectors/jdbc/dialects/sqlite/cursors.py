"""Tells how new rows of SQLite are found by ids and timestamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from connectors.jdbc.database.cursor_comparison import TimestampForm, form_of_sqlite
from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.values.types import Raw


class SqliteCursors(Cursors):
    """Tells how new rows are found in SQLite, which has one writer at a time and no type for timestamps."""

    has_times = False
    further_timestamps = frozenset({Raw.TEXT, Raw.INTEGER})
    orders_commits = True
    holds_writers = True

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock in UTC."""
        return sa.func.strftime("%Y-%m-%dT%H:%M:%fZ", "now")

    def form(self, sample: Callable[[], Any], column: str, zone: ZoneInfo, *, are_instants: bool) -> TimestampForm:
        """Return the form in which a moment is compared with a column; one value of the column shows it."""
        del are_instants
        return form_of_sqlite(sample(), column, zone)
