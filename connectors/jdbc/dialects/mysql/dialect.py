"""Describes MariaDB and MySQL, part by part; a driver of either connects to both."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect, DialectPart

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.catalog import Catalog
    from connectors.jdbc.dialects.generic.connecting import Connecting
    from connectors.jdbc.dialects.generic.log import LogSupport
    from connectors.jdbc.dialects.generic.plans import Plans
    from connectors.jdbc.dialects.generic.rights import Rights
    from connectors.jdbc.dialects.generic.server import Server
    from connectors.jdbc.dialects.generic.sessions import Sessions
    from connectors.jdbc.dialects.generic.settled import Settled
    from connectors.jdbc.dialects.generic.types import ColumnTypes
    from connectors.jdbc.dialects.generic.url import UrlForm
    from connectors.jdbc.dialects.generic.writing import Writing


class MySql(Dialect):
    """Describes MySQL."""

    title = "MySQL"
    java_name = "MySql"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.mysql.url import MySqlUrl

        return MySqlUrl(self.name)

    sessions: DialectPart[Sessions] = DialectPart("mysql.sessions:MySqlSessions")
    types: DialectPart[ColumnTypes] = DialectPart("mysql.types:MySqlTypes")
    connecting: DialectPart[Connecting] = DialectPart("mysql.connecting:MySqlConnecting")
    sink: DialectPart[Writing | None] = DialectPart("mysql.writing:MySqlWriting")
    catalog: DialectPart[Catalog] = DialectPart("mysql.catalog:MySqlCatalog")
    plans: DialectPart[Plans] = DialectPart("mysql.plans:MySqlPlans")
    server: DialectPart[Server] = DialectPart("mysql.server:MySqlServer")
    rights: DialectPart[Rights] = DialectPart("mysql.rights:MySqlRights")
    settled: DialectPart[Settled] = DialectPart("mysql.settled:MySqlSettled")
    log: DialectPart[LogSupport | None] = DialectPart("mysql.log:MySqlLogSupport")


class MariaDb(MySql):
    """Describes MariaDB."""

    title = "MariaDB"
    java_name = "MySql"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.mysql.url import MariaDbUrl

        return MariaDbUrl(self.name)
