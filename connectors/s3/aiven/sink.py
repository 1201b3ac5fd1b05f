"""Holds the connector for the class names of Aiven's sinks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from connect.api.config import ConnectorConfig
from connect.api.optional.findings import Finding
from connect.lib.deadline import Deadline
from connectors.s3.aiven.file_config import AivenFileConfig
from connectors.s3.aiven.plan import AivenPlan
from connectors.s3.sink.policy import missing_rights
from connectors.s3.sink.sink import S3SinkTask, check_bucket


class AivenSinkConnector:
    """Makes the tasks of one sink. All have the same settings, and Kafka shares the partitions out among them."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, AivenFileConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """List, create, create again and delete a probe object. ConfigError names what to change."""
        check_bucket(AivenPlan(self._config), deadline)

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield the rights that are missing, with the policy that gives them."""
        return missing_rights(AivenPlan(self._config), deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same configuration for each task."""
        return [dict(self._config.originals) for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> S3SinkTask:
        """Return a task that is not open yet."""
        return S3SinkTask(AivenPlan(type(self._config).parse(config)))
