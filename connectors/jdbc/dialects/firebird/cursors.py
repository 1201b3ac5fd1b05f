"""Tells how new rows of Firebird are found by ids and timestamps. Before release 4 its clock has no zone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.cursors import Cursors


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


class FirebirdCursors(Cursors):
    """Tells how new rows of Firebird are found."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the server's clock in UTC.

        The server tells its wall clock alone. Its difference from UTC is found by this machine's clock, and rounded to
        a quarter of an hour, as zones are. So this machine's clock has to be right to seven minutes.
        """
        wall: sa.ColumnElement[Any] = sa.literal_column("LOCALTIMESTAMP")
        here = sa.bindparam("utc_here", callable_=_now, type_=sa.DateTime())
        behind_s = sa.func.datediff(sa.literal_column("SECOND"), wall, here)
        quarters = sa.func.round(behind_s.op("/")(sa.literal_column("900.00")))
        minutes = sa.cast(quarters, sa.Integer).op("*")(sa.literal_column("15"))
        return sa.func.dateadd(sa.literal_column("MINUTE"), minutes, wall, type_=sa.DateTime())
