"""Declares the Cassandra connectors. It names the code that needs a driver, and imports none of it."""

from __future__ import annotations

from typing import Final

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

SOURCE: Final = Plugin(
    kind=PluginKind.SOURCE,
    name="connect.cassandra.CassandraSourceConnector",
    aliases=(
        "io.lenses.streamreactor.connect.cassandra.source.CassandraSourceConnector",
        "com.datamountaineer.streamreactor.connect.cassandra.source.CassandraSourceConnector",
    ),
    factory="connectors.cassandra.source.connector:CassandraSourceConnector",
    config="connectors.cassandra.source.config:CassandraSourceConfig",
    version=__version__,
    doc="Reads tables of any schema by token ranges, shared among tasks and resumed where each was.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.OFFSETS_ALTERABLE}),
)
AGENT: Final = Plugin(
    kind=PluginKind.AGENT,
    name="connect.cassandra.CassandraCdcAgent",
    aliases=("cassandra",),
    factory="connectors.cassandra.log.agent:CassandraCdcAgent",
    config="connectors.cassandra.log.agent_config:CassandraAgentConfig",
    version=__version__,
    doc="Sends the changes in a node's commit log, and deletes its segments once they are in Kafka.",
    capabilities=frozenset({Capability.DELETES, Capability.UPDATES, Capability.OFFSETS_ALTERABLE}),
)
DEDUP: Final = Plugin(
    kind=PluginKind.SOURCE,
    name="connect.cassandra.CassandraDedupConnector",
    factory="connectors.cassandra.dedup.connector:CassandraDedupConnector",
    config="connectors.cassandra.dedup.config:CassandraDedupConfig",
    version=__version__,
    doc="Reads the topics of the replicas' agents and writes each change once.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.OFFSETS_ALTERABLE, Capability.READS_TOPICS}),
)
SINK: Final = Plugin(
    kind=PluginKind.SINK,
    name="connect.cassandra.CassandraSinkConnector",
    factory="connectors.cassandra.sink.sink:CassandraSinkConnector",
    config="connectors.cassandra.sink.config:CassandraSinkConfig",
    version=__version__,
    doc="Writes rows into tables by their primary keys, and takes whole tables in backfills.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.DELETES, Capability.UPDATES}),
)
ENVELOPE: Final = Plugin(
    kind=PluginKind.TRANSFORMATION,
    name="connect.cassandra.DebeziumEnvelope",
    factory="connectors.cassandra.envelope:DebeziumEnvelope",
    config="connectors.cassandra.envelope_config:EnvelopeConfig",
    version=__version__,
    doc="Change events of Cassandra in Debezium's form: before, after, source, op.",
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins of this package."""
    return [SOURCE, AGENT, DEDUP, SINK, ENVELOPE]
