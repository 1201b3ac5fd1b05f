"""Describes databases that are read as generic ones, with the few parts that are known of each."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import UrlPart, part
from connectors.jdbc.dialects.generic.dialect import Generic


class Oracle(Generic):
    """Describes Oracle."""

    title = "Oracle"
    java_name = "Oracle"

    url = UrlPart("partly_known.oracle:OracleUrl")
    connecting = part("partly_known.oracle:OracleConnecting")
    cursors = part("partly_known.oracle:OracleCursors")


class MsSql(Generic):
    """Describes SQL Server."""

    title = "SQL Server"
    java_name = "SqlServer"

    @property
    def caution(self) -> str:
        """Return the warning that says what is not promised for the database, also for TLS."""
        return f"{super().caution} pymssql encrypts as encrypt says, but does not look at the server's certificate."

    url = UrlPart("partly_known.mssql:MsSqlUrl")
    connecting = part("partly_known.mssql:MsSqlConnecting")
    sessions = part("partly_known.mssql:MsSqlSessions")
    types = part("partly_known.mssql:MsSqlTypes")
    cursors = part("partly_known.mssql:MsSqlCursors")


class Db2(Generic):
    """Describes Db2."""

    title = "Db2"
    java_name = "Db2"

    url = UrlPart("partly_known.db2:Db2Url")
    connecting = part("partly_known.db2:Db2Connecting")


class SapHana(Generic):
    """Describes SAP HANA."""

    title = "SAP HANA"
    java_name = "SapHana"

    url = UrlPart("partly_known.hana:HanaUrl")
    connecting = part("partly_known.hana:HanaConnecting")
    cursors = part("partly_known.hana:HanaCursors")


class Redshift(Generic):
    """Describes Amazon Redshift."""

    title = "Redshift"

    url = UrlPart("partly_known.redshift:RedshiftUrl")
    connecting = part("partly_known.redshift:RedshiftConnecting")
    cursors = part("partly_known.redshift:RedshiftCursors")


class Snowflake(Generic):
    """Describes Snowflake."""

    title = "Snowflake"

    url = UrlPart("partly_known.snowflake:SnowflakeUrl")
    connecting = part("partly_known.snowflake:SnowflakeConnecting")
    cursors = part("partly_known.snowflake:SnowflakeCursors")


class ClickHouse(Generic):
    """Describes ClickHouse."""

    title = "ClickHouse"

    url = UrlPart("partly_known.clickhouse:ClickHouseUrl")
    connecting = part("partly_known.clickhouse:ClickHouseConnecting")
    cursors = part("partly_known.clickhouse:ClickHouseCursors")


class Cockroach(Generic):
    """Describes CockroachDB."""

    title = "CockroachDB"

    url = UrlPart("partly_known.cockroach:CockroachUrl")
    connecting = part("partly_known.cockroach:CockroachConnecting")


class Vertica(Generic):
    """Describes Vertica."""

    title = "Vertica"
    java_name = "Vertica"
