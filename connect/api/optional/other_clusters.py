"""Kafka clusters beside the worker's, for a connector that copies records between clusters. Connectors may lack it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline


class ClusterReader(Protocol):
    """Reads records of a cluster as bytes, outside of any consumer group. Owned by the thread that polls."""

    def poll(self, deadline: Deadline) -> Sequence[Batch]:
        """Return what has come, one batch for each partition, with `consumed`; keys, values and headers are bytes.

        RetriableError: no broker answers for now.
        """

    def take_losses(self) -> Sequence[str]:
        """Return what was deleted before it was read, as found since the last call, one sentence each."""

    def close(self) -> None:
        """Close the connection. Called once."""


class OtherCluster(Protocol):
    """Reads and changes the cluster that client settings name. It connects at the first call; any thread may call."""

    def topics(self, deadline: Deadline) -> Mapping[str, int]:
        """Return the number of partitions of every topic. RetriableError: no broker answers."""

    def own_configs(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, Mapping[str, str]]:
        """Return the configs that are set for each topic, or for all of its brokers, without their defaults.

        Topics that are gone, or whose configs may not be read, are left out; the log says why.
        """

    def state_of(self, topic: str, deadline: Deadline) -> str | None:
        """Return which state of a cluster of workers a topic holds by its records, such as "source offsets".

        Return None if it holds none, or if the worker's file lists it in internal.topics.writable. RetriableError: no
        broker answers.
        """

    def make_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str], deadline: Deadline
    ) -> bool:
        """Make a topic. Return False if it is there; then it is left as it is.

        ConfigError, here and for each change: the topic holds the state of a cluster of workers.
        """

    def widen_topic(self, topic: str, partitions: int, deadline: Deadline) -> None:
        """Give a topic so many partitions, which are more than it has."""

    def change_configs(self, topic: str, wanted: Mapping[str, str], removed: Sequence[str], deadline: Deadline) -> None:
        """Set configs of a topic, and take away those of the names `removed`."""

    def reader(self, starts: Mapping[TopicPartition, int | None]) -> ClusterReader:
        """Return a reader of these partitions, each from an offset on. It connects at its first poll.

        None stands for the place that auto.offset.reset says: the first record, where nobody sets it.
        """


OpensCluster = Callable[[Mapping[str, str], str], OtherCluster]
"""Opens a cluster by Java's client settings, `bootstrap.servers` among them, or the worker's own where there are none.

The second argument is what the settings begin with in the connector's configuration, for what is told of them.
ConfigError: a setting that the worker does not allow. The worker's login is sent to its own brokers alone.
"""


@runtime_checkable
class ClustersConnector(Protocol):
    """A connector that reads or changes clusters itself. Optional."""

    def take_clusters(self, opens: OpensCluster) -> None:
        """Take what opens clusters. Called once, before anything else is asked."""
