"""The deduplicating connector: shares out the partitions of the agents' topics among tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect.api.config import ConnectorConfig
from connect.api.optional.given_offsets import require_usable, whole_number
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.cassandra.dedup.config import CassandraDedupConfig, CassandraDedupTaskConfig
from connectors.cassandra.dedup.task import CassandraDedupTask


class CassandraDedupConnector:
    """A connector that plans the deduplicating tasks. It connects to nothing, as all its data is in Kafka."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraDedupConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Check nothing: there is no system outside of Kafka."""

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return configurations of as many tasks as allowed. A task that gets no partition has nothing to do."""
        common = dict(self._config.originals)
        return [{**common, "share": str(share), "share.of": str(max_tasks)} for share in range(max_tasks)]

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that are no places in a partition of a topic. All offsets are the framework's."""
        require_usable(positions, lambda _, offset: {"next_offset": whole_number(offset.get("next_offset"))})
        return False

    def task(self, config: Mapping[str, str]) -> CassandraDedupTask:
        """Return a task that does not read yet."""
        return CassandraDedupTask(CassandraDedupTaskConfig.parse(config))
