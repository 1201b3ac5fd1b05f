"""Describes MariaDB and MySQL, part by part; a driver of either connects to both."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from connectors.jdbc.dialects.dialect import Dialect

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.sessions import Sessions
    from connectors.jdbc.dialects.generic.types import ColumnTypes
    from connectors.jdbc.dialects.generic.url import UrlForm


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


class MariaDb(MySql):
    """Describes MariaDB."""

    title = "MariaDB"
    java_name = "MySql"

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.mysql.url import MariaDbUrl

        return MariaDbUrl(self.name)
