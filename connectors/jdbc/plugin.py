"""Declares the JDBC source and sink, and Debezium's connectors. Code that needs a driver is named and not imported."""

from __future__ import annotations

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

SOURCE = Plugin(
    kind=PluginKind.SOURCE,
    name="io.confluent.connect.jdbc.JdbcSourceConnector",
    aliases=("io.aiven.connect.jdbc.JdbcSourceConnector", "connectors.jdbc.JdbcSource"),
    factory="connectors.jdbc.source.connector:JdbcSourceConnector",
    address="connectors.jdbc.settings.address:addressed",
    config="connectors.jdbc.settings.config:JdbcSourceConfig",
    version=__version__,
    doc="Reads tables or a query of an SQL database, whole or by an incrementing or timestamp column.",
    capabilities=frozenset(
        {Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.OFFSETS_ALTERABLE, Capability.CLEANUP}
    ),
)

DEBEZIUM_POSTGRES = Plugin(
    kind=PluginKind.SOURCE,
    name="io.debezium.connector.postgresql.PostgresConnector",
    factory="connectors.jdbc.debezium.connector:DebeziumPostgresConnector",
    config="connectors.jdbc.debezium.config:DebeziumPostgresConfig",
    version=__version__,
    doc="Reads every change of PostgreSQL's tables from its log, with Debezium's settings and records.",
    capabilities=frozenset(
        {Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.OFFSETS_ALTERABLE, Capability.CLEANUP}
    ),
)

_OF_BINLOG = frozenset({Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.OFFSETS_ALTERABLE})

DEBEZIUM_MYSQL = Plugin(
    kind=PluginKind.SOURCE,
    name="io.debezium.connector.mysql.MySqlConnector",
    factory="connectors.jdbc.debezium.binlog.connector:DebeziumBinlogConnector",
    config="connectors.jdbc.debezium.binlog.config:DebeziumMySqlConfig",
    version=__version__,
    doc="Reads every change of MySQL's tables from its binary log, with Debezium's settings and records.",
    capabilities=_OF_BINLOG,
)

DEBEZIUM_MARIADB = Plugin(
    kind=PluginKind.SOURCE,
    name="io.debezium.connector.mariadb.MariaDbConnector",
    factory="connectors.jdbc.debezium.binlog.connector:DebeziumBinlogConnector",
    config="connectors.jdbc.debezium.binlog.config:DebeziumMariaDbConfig",
    version=__version__,
    doc="Reads every change of MariaDB's tables from its binary log, with Debezium's settings and records.",
    capabilities=_OF_BINLOG,
)

SINK = Plugin(
    kind=PluginKind.SINK,
    name="io.confluent.connect.jdbc.JdbcSinkConnector",
    aliases=(
        "io.aiven.connect.jdbc.JdbcSinkConnector",
        "connectors.jdbc.JdbcSink",
        # Debezium's class ends alike. Who names no package means this one, as before that class was here.
        "JdbcSinkConnector",
        "JdbcSink",
    ),
    factory="connectors.jdbc.sink.sink:JdbcSinkConnector",
    config="connectors.jdbc.sink.settings.config:JdbcSinkConfig",
    version=__version__,
    doc="Writes topics to tables of an SQL database, where records of the same key can be one row.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.DELETES}),
)

DEBEZIUM_SINK = Plugin(
    kind=PluginKind.SINK,
    name="io.debezium.connector.jdbc.JdbcSinkConnector",
    factory="connectors.jdbc.sink.debezium.connector:DebeziumSinkConnector",
    config="connectors.jdbc.sink.debezium.config:DebeziumSinkConfig",
    version=__version__,
    doc="Writes change events and records to tables of an SQL database, with the settings of Debezium's JDBC sink.",
    capabilities=frozenset({Capability.UPDATES, Capability.DELETES}),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins of this package."""
    return [SOURCE, DEBEZIUM_POSTGRES, DEBEZIUM_MYSQL, DEBEZIUM_MARIADB, SINK, DEBEZIUM_SINK]
