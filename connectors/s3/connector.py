"""Chooses the S3 sink's connector: one writes files that it names itself, the other one the files of Iceberg tables."""

from __future__ import annotations

from connect.api.config import ConnectorConfig
from connect.api.connector import Connector
from connectors.s3.iceberg.connector import IcebergSinkConnector
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.sink import S3SinkConnector


def connector(config: ConnectorConfig) -> Connector:
    """Return the connector of a configuration. It connects to nothing."""
    assert isinstance(config, S3SinkConfig)
    return IcebergSinkConnector(config) if config.is_iceberg else S3SinkConnector(config)
