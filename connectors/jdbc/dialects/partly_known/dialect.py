"""Databases that are read by generic means, but for the few things that are known of them."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import UrlPart, part
from connectors.jdbc.dialects.generic.dialect import Generic


class Oracle(Generic):
    """Describes Oracle."""

    title = "Oracle"
    java_name = "Oracle"

    connecting = part("partly_known.oracle:OracleConnecting")
    cursors = part("partly_known.oracle:OracleCursors")


class MsSql(Generic):
    """Describes SQL Server."""

    title = "SQL Server"
    java_name = "SqlServer"

    url = UrlPart("partly_known.mssql:MsSqlUrl")
    sessions = part("partly_known.mssql:MsSqlSessions")
    types = part("partly_known.mssql:MsSqlTypes")
    cursors = part("partly_known.mssql:MsSqlCursors")


class DuckDb(Generic):
    """Describes DuckDB."""

    title = "DuckDB"

    url = UrlPart("partly_known.duckdb:DuckDbUrl")
    sessions = part("partly_known.duckdb:DuckDbSessions")


class Db2(Generic):
    """Describes Db2."""

    title = "Db2"
    java_name = "Db2"


class SapHana(Generic):
    """Describes SAP HANA."""

    title = "SAP HANA"
    java_name = "SapHana"


class Vertica(Generic):
    """Describes Vertica."""

    title = "Vertica"
    java_name = "Vertica"
