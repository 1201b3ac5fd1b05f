"""Copies records of another cluster byte for byte, each into the partition of its number: connector and task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SourceContext
from connect.api.errors import ConnectError
from connect.api.optional.given_offsets import require_usable
from connect.api.optional.other_clusters import ClusterReader, OpensCluster, OtherCluster
from connect.api.records import Batch, SourcePosition, TopicPartition
from connect.lib.deadline import Deadline
from connectors.mirror.config import SOURCE, TARGET, MirrorSourceConfig
from connectors.mirror.positions import broken_members, next_offset, partition_of, position
from connectors.mirror.topics import Copies, TopicChoice

ASSIGNED: Final = "task.assigned.partitions"
_PLAN_S: Final = 60.0
_LOSSES_SHOWN: Final = 10


class MirrorSourceConnector:
    """Makes copies of topics in the target, and shares their partitions out to tasks."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, MirrorSourceConfig)
        self._config = config
        self._opens: OpensCluster | None = None

    def take_clusters(self, opens: OpensCluster) -> None:
        """Take what opens both clusters."""
        self._opens = opens

    @property
    def task_configs_interval_s(self) -> float | None:
        """Return how often new topics, partitions and configs are looked for."""
        config = self._config
        wanted = [(config.refreshes, config.refresh_s), (config.syncs_configs, config.sync_configs_s)]
        return min((float(seconds) for is_wanted, seconds in wanted if is_wanted), default=None)

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Ask the source for its topics. Say so where none is chosen."""
        if TopicChoice(self._config).chosen(self._source().topics(deadline)):
            return ()
        return ["No topic of the source is chosen by topics and topics.exclude now."]

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Make and widen the copies, and give each task partitions in turn. No tasks where no topic is chosen."""
        deadline = Deadline.after(_PLAN_S)
        source = self._source()
        found = source.topics(deadline)
        chosen = {topic: found[topic] for topic in TopicChoice(self._config).chosen(found)}
        target = self._opened(self._config.target_admin, TARGET)
        copied = Copies(self._config, source, target).keep(chosen, deadline)
        places = [f"{topic}-{number}" for topic, count in copied.items() for number in range(count)]
        tasks = min(max_tasks, len(places))
        return [{**self._config.originals, ASSIGNED: ",".join(places[task::tasks])} for task in range(tasks)]

    def task(self, config: Mapping[str, str]) -> MirrorSourceTask:
        """Return a task that is not open yet."""
        parsed = MirrorSourceConfig.parse(config)
        cluster = self._opened(parsed.source_client, SOURCE)
        return MirrorSourceTask(parsed, cluster, [_place(text) for text in config[ASSIGNED].split(",")])

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that name no place in a partition."""
        require_usable(positions, broken_members)
        return True

    def _source(self) -> OtherCluster:
        return self._opened(self._config.source_admin, SOURCE)

    def _opened(self, client: Mapping[str, str], prefix: str) -> OtherCluster:
        if self._opens is None:
            raise ConnectError("The mirror source was not given its clusters.", fix="Run it in a worker.")
        return self._opens(client, prefix)


class MirrorSourceTask:
    """Copies the records of some partitions."""

    def __init__(self, config: MirrorSourceConfig, cluster: OtherCluster, places: Sequence[TopicPartition]) -> None:
        self._alias, self._naming = config.source_alias, config.naming
        self._cluster, self._places = cluster, places
        self._reader: ClusterReader | None = None
        self._losses: list[str] = []

    def open(self, ctx: SourceContext) -> None:
        """Read on behind what is stored, and a partition of which nothing is stored from where the settings say."""
        self._ctx = ctx
        starts = {
            place: next_offset(ctx.stored_offset(partition_of(self._alias, place)), place) for place in self._places
        }
        self._reader = self._cluster.reader(starts)

    def poll(self, deadline: Deadline) -> Sequence[Batch] | None:
        """Return what has come, under the names of the copies."""
        assert self._reader is not None
        found = self._reader.poll(deadline)
        if losses := self._reader.take_losses():
            self._losses = [*self._losses, *losses][-_LOSSES_SHOWN:]
            self._ctx.note(self._losses)
        return [self._copied(batch) for batch in found] or None

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Do nothing: the source cluster keeps its records."""

    def close(self) -> None:
        """Close the reader."""
        if self._reader is not None:
            self._reader.close()

    def _copied(self, batch: Batch) -> Batch:
        assert batch.consumed is not None
        place = batch.consumed.topic_partition
        last = batch.consumed.offsets[-1].as_py()
        return replace(
            batch,
            topic=self._naming.target_name(batch.topic),
            position=position(self._alias, place, last),
            consumed=None,
        )


def _place(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))
