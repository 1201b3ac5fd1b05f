"""Describes MariaDB and MySQL, part by part. The driver of either one connects to servers of both."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import Dialect, UrlPart, part


class MySql(Dialect):
    """Describes MySQL."""

    title = "MySQL"
    java_name = "MySql"

    url = UrlPart("mysql.url:MySqlUrl")
    sessions = part("mysql.sessions:MySqlSessions")
    types = part("mysql.types:MySqlTypes")
    connecting = part("mysql.connecting:MySqlConnecting")
    sink = part("mysql.writing:MySqlWriting")
    catalog = part("mysql.catalog:MySqlCatalog")
    plans = part("mysql.plans:MySqlPlans")
    server = part("mysql.server:MySqlServer")
    rights = part("mysql.rights:MySqlRights")
    settled = part("mysql.settled:MySqlSettled")
    log = part("mysql.log:MySqlLogSupport")


class MariaDb(MySql):
    """Describes MariaDB."""

    title = "MariaDB"
    java_name = "MySql"

    url = UrlPart("mysql.url:MariaDbUrl")
