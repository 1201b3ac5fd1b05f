"""Tells what is particular to SQL Server."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.dialects.generic.sessions import Sessions
from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.dialects.generic.url import UrlForm


class MsSqlUrl(UrlForm):
    """Reads URLs of SQL Server."""

    instead = "mssql+pymssql://user@host:1433/name"


class MsSqlTypes(ColumnTypes):
    """Tells what column types of SQL Server hold."""

    has_unsigned_tinyints = True


class MsSqlCursors(Cursors):
    """Tells how rows of SQL Server are followed."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock: its CURRENT_TIMESTAMP is the server's wall clock."""
        return sa.func.sysutcdatetime()


class MsSqlSessions(Sessions):
    """Tells how sessions of SQL Server begin."""

    has_snapshot_isolation = True
