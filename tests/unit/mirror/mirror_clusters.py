"""Provides two clusters in memory, and the mirror source between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from connect.api.errors import ConnectError
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.mirror.config import MirrorSourceConfig
from connectors.mirror.source import MirrorSourceConnector

CONFIG = {
    "source.cluster.alias": "a", "target.cluster.alias": "b", "source.cluster.bootstrap.servers": "x:1",
    "replication.factor": "1",
}  # fmt: skip
Starts = Mapping[TopicPartition, int | None]


class Cluster:
    """Both clusters at once, in memory: topics with partitions and configs, and what was asked of them."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.counts = topics
        self.configs: dict[str, dict[str, str]] = {}
        self.states: dict[str, str] = {}
        self.starts: Starts = {}
        self.losses: list[str] = []
        self.found: list[Batch] = []
        self.hidden: set[str] = set()
        self.refused: dict[str, ConnectError] = {}
        self.asked: list[str] = []

    def _refuse(self, doing: str) -> None:
        if (error := self.refused.get(doing)) is not None:
            raise error

    def topics(self, deadline: Deadline) -> Mapping[str, int]:
        return self.counts

    def own_configs(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, Mapping[str, str]]:
        self.asked.append("own_configs")
        return {topic: self.configs.get(topic, {}) for topic in topics if topic not in self.hidden}

    def state_of(self, topic: str, deadline: Deadline) -> str | None:
        self.asked.append(f"state_of {topic}")
        return self.states.get(topic)

    def make_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str], deadline: Deadline
    ) -> bool:
        self._refuse(f"make {topic}")
        self.counts[topic] = partitions
        self.configs[topic] = dict(configs)
        return True

    def widen_topic(self, topic: str, partitions: int, deadline: Deadline) -> None:
        self._refuse(f"widen {topic}")
        self.counts[topic] = partitions

    def change_configs(self, topic: str, wanted: Mapping[str, str], removed: Sequence[str], deadline: Deadline) -> None:
        self._refuse(f"set {topic}")
        kept = {name: value for name, value in self.configs.get(topic, {}).items() if name not in removed}
        self.configs[topic] = {**kept, **wanted}

    def reader(self, starts: Starts) -> Cluster:
        self.starts = starts
        return self

    def poll(self, deadline: Deadline) -> Sequence[Batch]:
        return self.found

    def take_losses(self) -> Sequence[str]:
        return self.losses

    def close(self) -> None:
        self.starts = {}


def mirror(source: Cluster, target: Cluster | None = None, **given: str) -> MirrorSourceConnector:
    config = {**CONFIG, **{name.replace("__", "."): text for name, text in given.items()}}
    made = MirrorSourceConnector(MirrorSourceConfig.parse(config))
    made.take_clusters(lambda client, prefix: source if prefix.startswith("source.") else target or Cluster({}))
    return made
