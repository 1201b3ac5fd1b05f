"""Tells what SQL Server's column types hold. Pure."""

from __future__ import annotations

from connectors.jdbc.dialects.generic.types import ColumnTypes


class MsSqlTypes(ColumnTypes):
    """Tells it of SQL Server."""

    has_unsigned_tinyints = True
