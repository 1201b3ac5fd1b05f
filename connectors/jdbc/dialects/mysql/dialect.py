"""Describes MariaDB and MySQL, part by part; a driver of either connects to both."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect

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

    @cached_property
    def sessions(self) -> Sessions:
        """Return how its sessions begin."""
        from connectors.jdbc.dialects.mysql.sessions import MySqlSessions

        return MySqlSessions()

    @cached_property
    def types(self) -> ColumnTypes:
        """Return what its column types hold."""
        from connectors.jdbc.dialects.mysql.types import MySqlTypes

        return MySqlTypes()

    @cached_property
    def connecting(self) -> Connecting:
        """Return how it is connected to."""
        from connectors.jdbc.dialects.mysql.connecting import MySqlConnecting

        return MySqlConnecting()

    @cached_property
    def sink(self) -> Writing | None:
        """Return what the sink needs to know of it."""
        from connectors.jdbc.dialects.mysql.writing import MySqlWriting

        return MySqlWriting()

    @cached_property
    def catalog(self) -> Catalog:
        """Return what its catalog has."""
        from connectors.jdbc.dialects.mysql.catalog import MySqlCatalog

        return MySqlCatalog()

    @cached_property
    def plans(self) -> Plans:
        """Return how it explains polls."""
        from connectors.jdbc.dialects.mysql.plans import MySqlPlans

        return MySqlPlans()

    @cached_property
    def server(self) -> Server:
        """Return what a server says of itself."""
        from connectors.jdbc.dialects.mysql.server import MySqlServer

        return MySqlServer()

    @cached_property
    def rights(self) -> Rights:
        """Return which rights its users need."""
        from connectors.jdbc.dialects.mysql.rights import MySqlRights

        return MySqlRights()

    @cached_property
    def settled(self) -> Settled:
        """Return up to when its work is settled."""
        from connectors.jdbc.dialects.mysql.settled import MySqlSettled

        return MySqlSettled()

    @cached_property
    def log(self) -> LogSupport | None:
        """Return how its log is read."""
        from connectors.jdbc.dialects.mysql.log import MySqlLogSupport

        return MySqlLogSupport()


class MariaDb(MySql):
    """Describes MariaDB."""

    title = "MariaDB"
    java_name = "MySql"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.mysql.url import MariaDbUrl

        return MariaDbUrl(self.name)
