"""Declares the settings of the group Database: connection, tables, and mapping of types. No driver, no I/O.

Source: JdbcSourceConnectorConfig of confluentinc/kafka-connect-jdbc 10.9 and Aiven's jdbc-connector-for-apache-kafka.
"""

from __future__ import annotations

from typing import Annotated

from connect.api.allowed import OneOf
from connect.api.config import Boolean, ListOf, String, key, one_of
from connectors.jdbc.settings.connection_keys import DATABASE, DIALECTS, ConnectionKeys, OptionalString

NUMERIC_MAPPINGS = ("none", "precision_only", "best_fit", "best_fit_eager_double")


class DatabaseKeys(ConnectionKeys):
    """Declares what a user may say about the database."""

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
        harmless="a pattern of names",
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
