"""Databases that are read by generic means, but for the few things that are known of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import DialectPart
from connectors.jdbc.dialects.generic.dialect import Generic

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.connecting import Connecting
    from connectors.jdbc.dialects.generic.cursors import Cursors
    from connectors.jdbc.dialects.generic.sessions import Sessions
    from connectors.jdbc.dialects.generic.types import ColumnTypes
    from connectors.jdbc.dialects.generic.url import UrlForm


class Oracle(Generic):
    """Describes Oracle."""

    title = "Oracle"
    java_name = "Oracle"

    connecting: DialectPart[Connecting] = DialectPart("partly_known.oracle:OracleConnecting")
    cursors: DialectPart[Cursors] = DialectPart("partly_known.oracle:OracleCursors")


class MsSql(Generic):
    """Describes SQL Server."""

    title = "SQL Server"
    java_name = "SqlServer"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read."""
        from connectors.jdbc.dialects.generic.url import UrlForm

        return UrlForm(self.name, instead="mssql+pymssql://user@host:1433/name")

    sessions: DialectPart[Sessions] = DialectPart("partly_known.mssql:MsSqlSessions")
    types: DialectPart[ColumnTypes] = DialectPart("partly_known.mssql:MsSqlTypes")
    cursors: DialectPart[Cursors] = DialectPart("partly_known.mssql:MsSqlCursors")


class DuckDb(Generic):
    """Describes DuckDB."""

    title = "DuckDB"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read."""
        from connectors.jdbc.dialects.generic.url import UrlForm

        return UrlForm(self.name, is_file=True, instead="duckdb:////folder/file.db")

    sessions: DialectPart[Sessions] = DialectPart("partly_known.duckdb:DuckDbSessions")


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
