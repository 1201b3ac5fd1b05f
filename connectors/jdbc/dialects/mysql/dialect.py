"""Describes MariaDB and MySQL, part by part; a driver of either connects to both."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect, Part

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

    sessions: Part[Sessions] = Part("mysql.sessions:MySqlSessions")
    types: Part[ColumnTypes] = Part("mysql.types:MySqlTypes")
    connecting: Part[Connecting] = Part("mysql.connecting:MySqlConnecting")
    sink: Part[Writing | None] = Part("mysql.writing:MySqlWriting")
    catalog: Part[Catalog] = Part("mysql.catalog:MySqlCatalog")
    plans: Part[Plans] = Part("mysql.plans:MySqlPlans")
    server: Part[Server] = Part("mysql.server:MySqlServer")
    rights: Part[Rights] = Part("mysql.rights:MySqlRights")
    settled: Part[Settled] = Part("mysql.settled:MySqlSettled")
    log: Part[LogSupport | None] = Part("mysql.log:MySqlLogSupport")


class MariaDb(MySql):
    """Describes MariaDB."""

    title = "MariaDB"
    java_name = "MySql"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.mysql.url import MariaDbUrl

        return MariaDbUrl(self.name)
