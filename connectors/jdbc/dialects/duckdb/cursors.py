"""Tells how rows of DuckDB are followed by ids and timestamps."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.cursors import Cursors


class DuckDbCursors(Cursors):
    """Tells how rows of DuckDB are followed: nobody else has the file open for writing while it is read."""

    orders_commits = True

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the clock in UTC; a time with its zone would need a package of zones to become Python's."""
        return sa.func.make_timestamp(sa.func.epoch_us(sa.func.now()), type_=sa.DateTime())
