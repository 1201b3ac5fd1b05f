"""The S3 sink's connector where `table.format=iceberg`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect.api.deadline import Deadline
from connectors.s3.config import S3SinkConfig
from connectors.s3.iceberg.catalog import catalog_errors, load
from connectors.s3.iceberg.sink import IcebergSinkTask
from connectors.s3.store import Bucket


class IcebergSinkConnector:
    """Plans tasks: all are alike, Kafka shares the partitions out."""

    def __init__(self, config: S3SinkConfig) -> None:
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Open the catalogue, and list the bucket. ConfigError names what to change."""
        catalog = load(self._config)
        try:
            with catalog_errors(self._config):
                catalog.list_namespaces()
        finally:
            catalog.close()
        # Tables need no conditional writes, so nothing is tried out.
        bucket = Bucket(self._config.model_copy(update={"conditional_writes": False}))
        try:
            bucket.check(self._config.topics_dir, deadline)
        finally:
            bucket.close()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """The same configuration for each task."""
        return [dict(self._config.originals) for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> IcebergSinkTask:
        """A task, not yet open."""
        return IcebergSinkTask(S3SinkConfig.parse(config))
