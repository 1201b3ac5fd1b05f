"""The connector that makes one event of its copies: shares out the partitions of the agents' topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect.api.config import ConnectorConfig
from connect.api.deadline import Deadline
from connectors.cassandra.dedup.config import CassandraDedupConfig, CassandraDedupTaskConfig
from connectors.cassandra.dedup.task import CassandraDedupTask


class CassandraDedupConnector:
    """Plans the tasks. Connects to nothing: all it reads is Kafka."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraDedupConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Nothing outside of Kafka."""

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """As many tasks as allowed; one that has no partition rests."""
        common = dict(self._config.originals)
        return [{**common, "share": str(share), "share.of": str(max_tasks)} for share in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> CassandraDedupTask:
        """A task, not yet reading."""
        return CassandraDedupTask(CassandraDedupTaskConfig.parse(config))
