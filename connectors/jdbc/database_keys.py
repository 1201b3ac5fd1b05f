"""The settings of the group Database: the connection, which tables, and what their types become. No driver, no I/O.

Source: JdbcSourceConnectorConfig of confluentinc/kafka-connect-jdbc 10.9 and Aiven's jdbc-connector-for-apache-kafka.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import SecretStr

from connect.api.allowed import OneOf
from connect.api.config import (
    Boolean,
    ClassName,
    ConnectorConfig,
    Int,
    ListOf,
    Long,
    Password,
    String,
    at_least,
    key,
    one_of,
)
from connect.api.url import Url, UrlText
from connectors.jdbc.drivers import KEY

NUMERIC_MAPPINGS = ("none", "precision_only", "best_fit", "best_fit_eager_double")
_DIALECTS = (
    "Db2", "Derby", "Generic", "MySql", "Oracle", "PostgreSql", "SapHana", "SqlServer", "Sqlite", "Sybase", "Vertica",
)  # fmt: skip
DIALECTS = ("", *(name + "DatabaseDialect" for name in _DIALECTS))
DEFAULT_CREDENTIALS = "io.confluent.connect.jdbc.util.DefaultJdbcCredentialsProvider"
OptionalString = Annotated[str | None, *String.__metadata__]
OptionalPassword = Annotated[SecretStr | None, *Password.__metadata__]
DATABASE = "Database"


class DatabaseKeys(ConnectorConfig):
    """What a user may say about the database."""

    connection_url: Url = key(
        "connection.url", UrlText(""), importance="high", group=DATABASE,
        dependents=("table.whitelist", "table.blacklist"),
        display_name="JDBC URL", width="long",
        doc="Where the database is: a JDBC URL (jdbc:sqlite:, jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb:) or any "
        "SQLAlchemy URL. Keep the password in connection.password.",
    )  # fmt: skip
    sqlalchemy_drivers: ListOf = key(
        KEY, (), from_worker=True, group=DATABASE,
        doc="Further drivers that the worker lets a SQLAlchemy URL name, and known ones with all of their parameters.",
    )  # fmt: skip
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
    table_whitelist: ListOf = key(
        "table.whitelist", (), group=DATABASE, display_name="Table Whitelist", width="long",
        doc="Tables to read: bare name or fully qualified, quoted or not. Excludes table.blacklist.",
    )  # fmt: skip
    table_blacklist: ListOf = key(
        "table.blacklist", (), group=DATABASE, display_name="Table Blacklist", width="long",
        doc="Tables not to read. Excludes table.whitelist.",
    )  # fmt: skip
    table_include: ListOf = key(
        "table.include.list", (), group=DATABASE, display_name="Tables Included (Regex)", width="long",
        doc="Regular expressions; a table is read when one matches its whole fully qualified name.",
    )  # fmt: skip
    table_exclude: ListOf = key(
        "table.exclude.list", (), group=DATABASE, display_name="Tables Excluded (Regex)", width="long",
        doc="Regular expressions that take tables out of table.include.list again.",
    )  # fmt: skip
    catalog_pattern: OptionalString = key(
        "catalog.pattern", None, group=DATABASE, display_name="Catalog pattern", width="short",
        doc="LIKE pattern of the catalogs (MySQL, MariaDB: databases) to list; none: the one of the connection.",
    )  # fmt: skip
    schema_pattern: OptionalString = key(
        "schema.pattern", None, importance="high", group=DATABASE, display_name="Schema pattern", width="short",
        doc="LIKE pattern of the schemas to list; none: all but the system's; empty: the connection's default schema.",
    )  # fmt: skip
    numeric_precision_mapping: Boolean = key(
        "numeric.precision.mapping", False, importance="low", group=DATABASE,
        display_name="Map Numeric Values By Precision (deprecated)", width="short",
        doc="Deprecated: true is numeric.mapping=precision_only.",
    )  # fmt: skip
    numeric_mapping: Annotated[OptionalString, OneOf(NUMERIC_MAPPINGS, ignore_case=True)] = key(
        "numeric.mapping", None, importance="low", group=DATABASE,
        display_name="Map Numeric Values, Integral or Decimal, By Precision and Scale", width="short",
        doc="What NUMERIC columns become: none keeps Decimal; precision_only makes whole numbers integers; best_fit "
        "also fractions of at most 18 digits into FLOAT64; best_fit_eager_double all fractions. DECIMAL stays Decimal.",
    )  # fmt: skip
    dialect_name: Annotated[String, one_of(*DIALECTS)] = key(
        "dialect.name", "", importance="low", group=DATABASE, display_name="Database Dialect", width="long",
        doc="Accepted when it agrees with connection.url.",
    )  # fmt: skip
    date_calendar_system: Annotated[String, one_of("LEGACY", "PROLEPTIC_GREGORIAN")] = key(
        "date.calendar.system", "LEGACY", importance="low", group=DATABASE, display_name="Date Calendar System",
        doc="Both give the proleptic Gregorian calendar here; they differ only before 1582-10-15.",
    )  # fmt: skip
    sql_quote_identifiers: Boolean = key(
        "sql.quote.identifiers", True, group=DATABASE, doc="Aiven's name: false is quote.sql.identifiers=NEVER."
    )
    table_names_qualify: Boolean = key(
        "table.names.qualify", True, group=DATABASE,
        doc="Aiven: false leaves the schema out of SQL and finds tables by the connection's search path.",
    )  # fmt: skip
