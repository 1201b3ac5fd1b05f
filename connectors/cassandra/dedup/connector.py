"""Plans the deduplicating tasks: each gets a share of the partitions of the agents' topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect.api.config import ConnectorConfig
from connect.api.optional.given_offsets import require_usable, whole_number
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.cassandra.dedup.config import CassandraDedupConfig, CassandraDedupTaskConfig
from connectors.cassandra.dedup.task import CassandraDedupTask


class CassandraDedupConnector:
    """Makes the plan of the deduplicating tasks. It connects to nothing, as all its data is in Kafka."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraDedupConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Check nothing: there is no system outside of Kafka."""

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the configurations of `max_tasks` tasks. A task whose share has no partition has nothing to do."""
        common = dict(self._config.originals)
        return [{**common, "share": str(share), "share.of": str(max_tasks)} for share in range(max_tasks)]

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that are no positions in a topic's partition; return False: the framework keeps them all."""
        require_usable(positions, lambda _, offset: {"next_offset": whole_number(offset.get("next_offset"))})
        return False

    def task(self, config: Mapping[str, str]) -> CassandraDedupTask:
        """Return a task that does not read yet."""
        return CassandraDedupTask(CassandraDedupTaskConfig.parse(config))
