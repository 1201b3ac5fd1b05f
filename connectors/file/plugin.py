"""Declares the file connectors. Cheap: neither Arrow nor the tasks are imported."""

from __future__ import annotations

from typing import Final

from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

KAFKA_VERSION: Final = "4.1.0"
"""The Kafka release whose file connectors are replaced by these."""

SOURCE = Plugin(
    kind=PluginKind.SOURCE,
    name="org.apache.kafka.connect.file.FileStreamSourceConnector",
    factory="connectors.file.source:FileStreamSourceConnector",
    config="connectors.file.config:FileStreamSourceConfig",
    version=KAFKA_VERSION,
    doc="Reads the lines of a file, and those appended to it, into a topic.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.OFFSETS_ALTERABLE}),
)
SINK = Plugin(
    kind=PluginKind.SINK,
    name="org.apache.kafka.connect.file.FileStreamSinkConnector",
    factory="connectors.file.sink:FileStreamSinkConnector",
    address="connectors.file.address:addressed",
    config="connectors.file.config:FileStreamSinkConfig",
    version=KAFKA_VERSION,
    doc="Appends the text of each value to a file, one line each.",
    capabilities=frozenset({Capability.OFFSETS_ALTERABLE}),
)
DATA_FILES = Plugin(
    kind=PluginKind.SOURCE,
    name="connect.file.DataFilesSourceConnector",
    factory="connectors.file.data_source:DataFilesSourceConnector",
    config="connectors.file.data_config:DataFilesSourceConfig",
    version=KAFKA_VERSION,
    doc="Reads the rows of Parquet, CSV and JSON files of a folder or a bucket, and of those that come, into a topic.",
    capabilities=frozenset({Capability.EXACTLY_ONCE}),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the file source, the file sink and the source of data files."""
    return [SOURCE, SINK, DATA_FILES]
