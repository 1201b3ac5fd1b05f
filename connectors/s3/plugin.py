"""Declares the S3 sink and the sinks for other stores. The import loads neither Arrow nor a store's client."""

from __future__ import annotations

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

SINK = Plugin(
    kind=PluginKind.SINK,
    name="io.confluent.connect.s3.S3SinkConnector",
    factory="connectors.s3.connector:connector",
    address="connectors.s3.settings.address:addressed",
    config="connectors.s3.settings.config:S3SinkConfig",
    version=__version__,
    doc="Writes topics to an S3 bucket as Parquet, Avro, JSON lines or raw bytes; each record is in one object.",
    capabilities=frozenset({Capability.EXACTLY_ONCE}),
)
_AIVENS = (
    ("io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector", "aiven.config:AivenS3SinkConfig", "S3 sink"),
    (
        "io.aiven.kafka.connect.gcs.GcsSinkConnector",
        "aiven.gcs_config:AivenGcsSinkConfig",
        "S3 sink for Google Cloud Storage",
    ),
)
AIVEN_SINKS = tuple(
    Plugin(
        kind=PluginKind.SINK,
        name=name,
        factory="connectors.s3.aiven.sink:AivenSinkConnector",
        config=f"connectors.s3.{config}",
        version=__version__,
        doc=f"The {sink} with the settings and file names of Aiven's; each record is in one object.",
        capabilities=frozenset({Capability.EXACTLY_ONCE}),
    )
    for name, config, sink in _AIVENS
)

_OTHERS = (
    ("io.confluent.connect.gcs.GcsSinkConnector", "settings.other_stores:GcsSinkConfig", "Google Cloud Storage"),
    (
        "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector",
        "settings.other_stores:AzureBlobSinkConfig",
        "Azure's blobs",
    ),
    ("io.confluent.connect.hdfs3.Hdfs3SinkConnector", "settings.other_stores:Hdfs3SinkConfig", "HDFS 3"),
    ("io.confluent.connect.hdfs.HdfsSinkConnector", "settings.other_stores:HdfsSinkConfig", "HDFS 2"),
)
OTHER_STORES = tuple(
    Plugin(
        kind=PluginKind.SINK,
        name=name,
        factory="connectors.s3.connector:connector",
        config=f"connectors.s3.{config}",
        version=__version__,
        # These short names belong to Confluent's class. Aiven's class of the same name was added later.
        aliases=("GcsSinkConnector", "GcsSink") if config.endswith(":GcsSinkConfig") else (),
        doc=f"The S3 sink for {store}, with Confluent's settings; each record is in one object.",
        capabilities=frozenset({Capability.EXACTLY_ONCE}),
    )
    for name, config, store in _OTHERS
)
ICEBERG = Plugin(
    kind=PluginKind.SINK,
    name="org.apache.iceberg.connect.IcebergSinkConnector",
    aliases=("io.tabular.iceberg.connect.IcebergSinkConnector",),
    factory="connectors.s3.connector:connector",
    config="connectors.s3.settings.iceberg_sink_config:IcebergSinkConfig",
    version=__version__,
    doc="Appends topics to Iceberg tables, by the settings of Apache's sink; each row is in its table once.",
    capabilities=frozenset({Capability.EXACTLY_ONCE}),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins: the S3 sink under the names and settings of Confluent's, Aiven's and Apache's sinks."""
    return [SINK, *AIVEN_SINKS, *OTHER_STORES, ICEBERG]
