"""Tells what is particular to Oracle."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.cursors import Cursors


class OracleConnecting(Connecting):
    """Connects to Oracle."""

    ping = "SELECT 1 FROM dual"


class OracleCursors(Cursors):
    """Tells how rows of Oracle are followed."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock: drivers give CURRENT_TIMESTAMP without its zone, which is the session's."""
        return sa.func.sys_extract_utc(sa.literal_column("SYSTIMESTAMP"))
