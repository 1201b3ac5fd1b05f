"""Declares the settings by which source and sink connect. No driver, no I/O.

Source: JdbcSourceConnectorConfig and JdbcSinkConfig of confluentinc/kafka-connect-jdbc 10.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import SecretStr

from connect.api.config import ClassName, ConnectorConfig, Int, ListOf, Long, Password, String, at_least, key
from connect.api.reach import Reach
from connect.api.url import Url, UrlText
from connect.lib.nearest import nearest
from connectors.jdbc.settings.drivers import KEY, files_of, is_file, sockets_of
from connectors.jdbc.settings.url import hosts_of, parse

_DIALECTS = (
    "Db2", "Derby", "Generic", "MySql", "Oracle", "PostgreSql", "SapHana", "SqlServer", "Sqlite", "Sybase", "Vertica",
)  # fmt: skip
DIALECTS = ("", *(name + "DatabaseDialect" for name in _DIALECTS))
DEFAULT_CREDENTIALS = "io.confluent.connect.jdbc.util.DefaultJdbcCredentialsProvider"
OptionalString = Annotated[str | None, *String.__metadata__]
OptionalPassword = Annotated[SecretStr | None, *Password.__metadata__]
DATABASE = "Database"
URL_REACH = (Reach.URL, Reach.HOST, Reach.FILE, Reach.CLASS)
URL_BOUNDS = (
    "drivers and parameters of fixed lists, others by `jdbc.sqlalchemy.drivers` of the worker's file; SQLite, DuckDB, "
    "certificates and keys as any file"
)


class AddressKeys(ConnectorConfig):
    """Declares where the database is."""

    connection_url: Url = key(
        "connection.url", UrlText(""), importance="high", group=DATABASE,
        dependents=("table.whitelist", "table.blacklist"),
        display_name="JDBC URL", width="long",
        reach=URL_REACH, bounds=URL_BOUNDS,
        doc="Where the database is: a JDBC URL (jdbc:sqlite:, jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb:, "
        "jdbc:oracle:thin:, jdbc:sqlserver:, jdbc:jtds:sqlserver:, jdbc:db2:, jdbc:firebirdsql:, jdbc:duckdb:, "
        "jdbc:redshift:, jdbc:snowflake:, jdbc:sap:, jdbc:clickhouse:) or any SQLAlchemy URL. Keep the password in "
        "connection.password.",
    )  # fmt: skip
    sqlalchemy_drivers: ListOf = key(
        KEY, (), from_worker=True, group=DATABASE,
        doc="Further drivers that the worker lets a SQLAlchemy URL name, and known ones with all of their parameters.",
    )  # fmt: skip

    def named_files(self) -> Iterator[tuple[str, str]]:
        """Yield a pair of key and path for each file that the settings name: SQLite's, certificates, keys, sockets."""
        try:
            url = parse(self.connection_url, self.driver_properties)
            found = [*files_of(url), *sockets_of(url)]
        except ValueError:
            return  # told by connection_rules
        for parameter, path in found:
            given = f"connection.{parameter}"
            yield given if parameter in self.driver_properties else "connection.url", path

    def named_hosts(self) -> Iterator[tuple[str, str]]:
        """Yield a pair of key and server for each server that the URL and its parameters name."""
        try:
            url = parse(self.connection_url, self.driver_properties)
        except ValueError:
            return  # told by connection_rules
        yield from (("connection.url", host) for host in hosts_of(url, is_file=is_file(url)))

    @property
    def bounds_hosts(self) -> bool:
        """Return True if the worker's file limits the hosts that these settings may name."""
        return not self._hosts.are_all

    @property
    def driver_properties(self) -> dict[str, str]:
        """Return the parameters that are given to the driver beside those of the URL: none."""
        return {}


class ConnectionKeys(AddressKeys):
    """Declares where the database is, and as which user to connect."""

    connection_user: OptionalString = key(
        "connection.user", None, importance="high", group=DATABASE, display_name="JDBC User", width="long",
        doc="The database user.",
    )  # fmt: skip
    connection_password: OptionalPassword = key(
        "connection.password", None, importance="high", group=DATABASE, display_name="JDBC Password", width="short",
        doc="The database user's password.",
    )  # fmt: skip
    credentials_provider: ClassName = key(
        "jdbc.credentials.provider.class", DEFAULT_CREDENTIALS, importance="low", group=DATABASE,
        display_name="JDBC Credentials Provider Class", width="long",
        doc="Only the default is known here: user and password come from the two keys above, which may name a config "
        "provider.",
    )  # fmt: skip
    connection_attempts: Annotated[Int, at_least(1)] = key(
        "connection.attempts", 3, importance="low", group=DATABASE,
        display_name="JDBC connection attempts", width="short",
        doc="How often a check tries to connect. A running task tries until errors.retry.timeout.",
    )  # fmt: skip
    connection_backoff_ms: Annotated[Long, at_least(0)] = key(
        "connection.backoff.ms", 10000, importance="low", group=DATABASE,
        display_name="JDBC connection backoff in milliseconds", width="short",
        doc="The wait between two of these tries.",
    )  # fmt: skip

    @property
    def driver_properties(self) -> dict[str, str]:
        """Return every further `connection.*` key, which goes to the driver. May hold secrets."""
        own = {d.name.removeprefix("connection.") for d in self.definitions() if d.name.startswith("connection.")}
        return {name: value for name, value in self.with_prefix("connection.").items() if name not in own}

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Yield the keys that are not declared, without further ones of `connection.`, which go to the driver.

        One that is like a declared key is yielded, as it is likely to be misspelt.
        """
        declared = [d.name for d in cls.definitions()]
        for name in super().unknown_keys(properties):
            if not name.startswith("connection.") or nearest(name, declared) is not None:
                yield name
