"""Tells how new rows of DuckDB are found by ids and timestamps."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.cursors import Cursors


class DuckDbCursors(Cursors):
    """Tells how new rows are found in DuckDB: no other process can write to the file while it is read."""

    orders_commits = True

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the clock as a time in UTC. Python would need a further package to read a time with its zone."""
        return sa.func.make_timestamp(sa.func.epoch_us(sa.func.now()), type_=sa.DateTime())
