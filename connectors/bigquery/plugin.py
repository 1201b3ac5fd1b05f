"""Declares the BigQuery sink. Cheap to import: neither Arrow nor Google's client is loaded."""

from __future__ import annotations

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

SINK = Plugin(
    kind=PluginKind.SINK,
    name="com.wepay.kafka.connect.bigquery.BigQuerySinkConnector",
    factory="connectors.bigquery.sink:BigQuerySinkConnector",
    address="connectors.bigquery.settings.address:addressed",
    config="connectors.bigquery.settings.config:BigQuerySinkConfig",
    version=__version__,
    doc="Writes topics to BigQuery tables, where records with the same values in chosen fields are one row.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.UPDATES, Capability.DELETES}),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the BigQuery sink."""
    return [SINK]
