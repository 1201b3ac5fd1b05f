"""Declares the JDBC source and sink. Cheap: names the code that needs a driver, imports none of it."""

from __future__ import annotations

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl
from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.sink.settings.config import JdbcSinkConfig

SOURCE = Plugin(
    kind=PluginKind.SOURCE,
    name="io.confluent.connect.jdbc.JdbcSourceConnector",
    aliases=("io.aiven.connect.jdbc.JdbcSourceConnector", "connectors.jdbc.JdbcSource"),
    factory="connectors.jdbc.source.connector:JdbcSourceConnector",
    address="connectors.jdbc.settings.address:addressed",
    config=JdbcSourceConfig,
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
    config=DebeziumPostgresConfig,
    version=__version__,
    doc="Reads every change of PostgreSQL's tables from its log, with Debezium's settings and records.",
    capabilities=frozenset(
        {Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.OFFSETS_ALTERABLE, Capability.CLEANUP}
    ),
)

SINK = Plugin(
    kind=PluginKind.SINK,
    name="io.confluent.connect.jdbc.JdbcSinkConnector",
    aliases=("io.aiven.connect.jdbc.JdbcSinkConnector", "connectors.jdbc.JdbcSink"),
    factory="connectors.jdbc.sink.sink:JdbcSinkConnector",
    config=JdbcSinkConfig,
    version=__version__,
    doc="Writes topics to tables of an SQL database, where records of the same key can be one row.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.DELETES}),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins of this package."""
    return [SOURCE, DEBEZIUM_POSTGRES, SINK]
