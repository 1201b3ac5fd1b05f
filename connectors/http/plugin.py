"""Declares the sinks that speak HTTP. Cheap: neither Arrow nor the tasks are imported."""

from __future__ import annotations

from typing import Final

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

_DOCUMENTS: Final = frozenset({
    Capability.EXACTLY_ONCE, Capability.DELETES, Capability.UPDATES, Capability.OFFSETS_ALTERABLE
})  # fmt: skip
HTTP: Final = Plugin(
    kind=PluginKind.SINK,
    name="io.confluent.connect.http.HttpSinkConnector",
    factory="connectors.http.api.sink:HttpSinkConnector",
    config="connectors.http.api.config:HttpSinkConfig",
    version=__version__,
    doc="Sends each record, or so many at a time, to an HTTP API.",
    capabilities=frozenset({Capability.OFFSETS_ALTERABLE}),
)
AIVEN_HTTP: Final = Plugin(
    kind=PluginKind.SINK,
    name="io.aiven.kafka.connect.http.HttpSinkConnector",
    factory="connectors.http.api.sink:HttpSinkConnector",
    config="connectors.http.api.config:AivenHttpSinkConfig",
    version=__version__,
    doc="The HTTP sink with the settings of Aiven's.",
    capabilities=frozenset({Capability.OFFSETS_ALTERABLE}),
)
ELASTICSEARCH: Final = Plugin(
    kind=PluginKind.SINK,
    name="io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    factory="connectors.http.search.sink:SearchSinkConnector",
    config="connectors.http.search.config:SearchSinkConfig",
    version=__version__,
    doc="Writes records as documents into indices or data streams of Elasticsearch 7 or later, or of OpenSearch.",
    capabilities=_DOCUMENTS,
)
OPENSEARCH: Final = Plugin(
    kind=PluginKind.SINK,
    name="io.aiven.kafka.connect.opensearch.OpensearchSinkConnector",
    aliases=(
        "io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector",
        "io.aiven.connect.elasticsearch.ElasticsearchSinkConnector",
    ),
    factory="connectors.http.search.sink:SearchSinkConnector",
    config="connectors.http.search.opensearch_config:OpenSearchSinkConfig",
    version=__version__,
    doc="The same with the settings of Aiven's sinks for OpenSearch and Elasticsearch.",
    capabilities=_DOCUMENTS,
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins of this package."""
    return [HTTP, AIVEN_HTTP, ELASTICSEARCH, OPENSEARCH]
