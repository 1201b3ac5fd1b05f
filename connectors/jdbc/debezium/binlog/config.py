"""Declares the settings of Debezium's MySQL and MariaDB connectors by their own keys. No driver, no I/O.

Source: the definitions that the MySQL connector's version 3.6 gives by Kafka Connect's validation; older names from the
documentation of 1.9 and 2.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, SecretStr

from connect.api.allowed_hosts import with_ports
from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, Password, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.time_types import TimePrecision
from connectors.jdbc.debezium.binlog import rules
from connectors.jdbc.debezium.binlog.unused_keys import ANSWERS
from connectors.jdbc.debezium.shared.handling_modes import BINARY_MODES, Handling
from connectors.jdbc.debezium.shared.keys import CONNECTION, LOG, TABLES, TYPES, DebeziumConfig

SNAPSHOT_MODES = (
    "initial", "initial_only", "no_data", "never", "when_needed", "recovery", "schema_only", "schema_only_recovery",
    "always", "configuration_based",
)  # fmt: skip
_MYSQL_SSL_MODES = {mode: mode for mode in ("disabled", "preferred", "required", "verify_ca", "verify_identity")}
_MARIADB_SSL_MODES = {
    "disable": "disable", "trust": "trust", "verify-ca": "verify-ca", "verify-full": "verify-full",
    "disabled": "disable", "required": "trust",
}  # fmt: skip
PRECISIONS = tuple(mode for mode in TimePrecision if mode is not TimePrecision.ADAPTIVE)


def _ssl_mode_key(default: str) -> Any:
    return key(
        "database.ssl.mode", default, group=CONNECTION,
        doc="Whether the connection is encrypted, and what of the server's certificate is checked.",
    )  # fmt: skip


class ConnectionKeys(ConnectorConfig):
    """Declares where the server is."""

    port: Annotated[Int, at_least(1)] = key(
        "database.port", 3306, importance="high", group=CONNECTION, doc="The server's port."
    )
    ssl_mode: String = _ssl_mode_key("preferred")
    truststore: String = key(
        "database.ssl.truststore",
        "",
        group=CONNECTION,
        reach=Reach.FILE,
        doc="The certificates that are trusted (PEM).",
    )
    keystore: String = key(
        "database.ssl.keystore", "", group=CONNECTION, reach=Reach.FILE,
        doc="The client's certificate and key, one after the other in a file (PEM).",
    )  # fmt: skip
    any_public_key: Boolean = key(
        "database.allowPublicKeyRetrieval", False, group=CONNECTION, former=["driver.allowPublicKeyRetrieval"],
        doc="A server without TLS may ask for the password by a key of its own.",
    )  # fmt: skip
    keystore_password: Password = key(
        "database.ssl.keystore.password", SecretStr(""), group=CONNECTION, doc="The password of the client's key.",
        harmless="a password, no file",
    )  # fmt: skip

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the servers with their port."""
        return with_ports(super().named_hosts(), {"database.hostname": self.port})


class TableKeys(ConnectorConfig):
    """Declares what is read, and where its records go."""

    database_include: ListOf = key(
        "database.include.list", (), importance="high", group=TABLES,
        doc="Regular expressions; tables of a database are read when one matches its whole name, in any case.",
    )  # fmt: skip
    database_exclude: ListOf = key(
        "database.exclude.list", (), group=TABLES, doc="Likewise, of databases that are not."
    )
    database_whitelist: ListOf = key(
        "database.whitelist", (), group=TABLES, doc="database.include.list in Debezium 1.2."
    )
    database_blacklist: ListOf = key(
        "database.blacklist", (), group=TABLES, doc="database.exclude.list in Debezium 1.2."
    )


class LogKeys(ConnectorConfig):
    """Declares how the log is read."""

    snapshot_mode: Annotated[String, one_of(*SNAPSHOT_MODES)] = key(
        "snapshot.mode", "initial", importance="high", group=LOG,
        doc="initial: read the tables once, then the log. initial_only: the tables alone. no_data (schema_only, "
        "recovery): the log alone, from now on. never: the log alone, from where the server's log begins, as in "
        "Debezium 1 and 2. when_needed: as initial, and again when the place in the log is lost. "
        "always: as initial, at each start. configuration_based: as snapshot.mode.configuration.based.* say.",
    )  # fmt: skip


class StatementKeys(ConnectorConfig):
    """Declares which statements that change databases and tables become records."""

    tells_statements: Boolean = key(
        "include.schema.changes", True, group=LOG,
        doc="Send statements such as ALTER TABLE to the topic that is named topic.prefix, each with the columns that "
        "the table has behind it.",
    )  # fmt: skip
    tells_comments: Boolean = key(
        "include.schema.comments", False, importance="low", group=LOG,
        doc="Tell there the comments of tables and columns.",
    )  # fmt: skip
    tells_own_tables: Boolean = key(
        "schema.history.internal.store.only.captured.tables.ddl", False, importance="low", group=LOG,
        doc="Tell there statements of the tables alone that the connector reads, not of all tables of the server.",
    )  # fmt: skip
    tells_own_databases: Boolean = key(
        "schema.history.internal.store.only.captured.databases.ddl", False, importance="low", group=LOG,
        doc="Likewise, of the databases alone whose tables it reads.",
    )  # fmt: skip


def _check_precision(value: str) -> str:
    if value == "structured":
        raise ValueError("structured is not known here: use adaptive_time_microseconds or isostring")
    return value


class TypeKeys(ConnectorConfig):
    """Declares in which form values come."""

    decimals: Annotated[String, one_of("precise", "double", "string")] = key(
        "decimal.handling.mode", "precise", group=TYPES, doc="DECIMAL as Decimal, FLOAT64 or text."
    )
    times: Annotated[String, one_of(*PRECISIONS, "structured"), AfterValidator(_check_precision)] = key(
        "time.precision.mode", "adaptive_time_microseconds", group=TYPES, doc="What dates and times become."
    )
    unsigned: Annotated[String, one_of("long", "precise")] = key(
        "bigint.unsigned.handling.mode", "long", group=TYPES,
        doc="BIGINT UNSIGNED as INT64, where values above 9223372036854775807 are negative, or as Decimal.",
    )  # fmt: skip
    binary: Annotated[String, one_of(*BINARY_MODES)] = key(
        "binary.handling.mode",
        "bytes",
        importance="low",
        group=TYPES,
        doc="BINARY and BLOB as bytes or as text of them.",
    )
    adjusts_years: Boolean = key(
        "enable.time.adjuster", True, importance="low", group=TYPES,
        doc="Whether years 0 to 99 are told as those of 1970 to 2069.",
    )  # fmt: skip


class DebeziumBinlogConfig(TypeKeys, StatementKeys, LogKeys, TableKeys, ConnectionKeys, DebeziumConfig):
    """Declares what both connectors have in common."""

    answers = ANSWERS
    connector: ClassVar[str]
    """The connector has this name in the source block and in headers."""
    ssl_modes: ClassVar[Mapping[str, str]]
    """Maps the values of database.ssl.mode to the names that they have in a JDBC URL."""

    @property
    def ssl(self) -> str:
        """Return database.ssl.mode as a JDBC URL names it."""
        return self.ssl_modes[self.ssl_mode.lower()]

    @property
    def handling(self) -> Handling:
        """Return the forms in which values come."""
        return Handling(
            self.decimals,
            TimePrecision(self.times),
            binary=self.binary,
            unsigned=self.unsigned,
            adjusts_years=self.adjusts_years,
            schema_names=self.schema_name_adjustment,
            field_names=self.field_name_adjustment,
        )

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield every broken rule between keys, and the keys that are not accepted."""
        return rules.problems(self)


class DebeziumMySqlConfig(DebeziumBinlogConfig):
    """Declares everything a user may say about Debezium's MySQL connector."""

    connector = "mysql"
    ssl_modes = _MYSQL_SSL_MODES
    ssl_mode: Annotated[String, one_of(*_MYSQL_SSL_MODES, ignore_case=True)] = _ssl_mode_key("preferred")


class DebeziumMariaDbConfig(DebeziumBinlogConfig):
    """Declares everything a user may say about Debezium's MariaDB connector."""

    connector = "mariadb"
    ssl_modes = _MARIADB_SSL_MODES
    ssl_mode: Annotated[String, one_of(*_MARIADB_SSL_MODES, ignore_case=True)] = _ssl_mode_key("disable")
