"""Keeps a sink task a member of its consumer group while it takes no rows, and asks if it still is one."""

from __future__ import annotations

import logging
from collections.abc import Collection

from connect.api.records import TopicPartition
from connect.kafka.client.errors import FencedError
from connect.kafka.consume.consumer import BatchConsumer
from connect.lib.deadline import Deadline
from connect.runtime.sink.partitions import SinkPartitions, first_offset, place_of

log = logging.getLogger(__name__)


class SinkMembership:
    """Pauses and resumes the consumer's partitions. Owned by the task's thread.

    A silent consumer would be put out of its group, so `serve` has to be called between `hold` and `go_on`.
    """

    def __init__(self, consumer: BatchConsumer, partitions: SinkPartitions) -> None:
        self._consumer = consumer
        self.partitions = partitions
        self._holds = False

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Add partitions that the group gave this task. They rest, too, while the others do.

        The consumer tells of paused partitions how far they are behind, without reading them.
        """
        self.partitions.assign(partitions)
        if self._holds:
            self._consumer.pause(partitions)

    def hold(self) -> None:
        """Pause all partitions, and those that come until `go_on`."""
        self._holds = True
        self._consumer.pause(self.partitions.assigned)

    def go_on(self) -> None:
        """Resume all partitions."""
        self._holds = False
        self._consumer.resume(self.partitions.assigned)

    def serve(self) -> None:
        """Poll the consumer, which tells the group that this member lives, and this member of rebalances."""
        stray = self._consumer.poll(0, Deadline.after(0.0))
        for raw in stray:
            # A partition assigned while paused may deliver before it is paused: take it back, read it again later.
            tp = place_of(raw)
            self._consumer.seek(tp, first_offset(raw))
            self._consumer.pause([tp])

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:
        """Tell if this task still owns a partition, by committing the last offset of it once more.

        The group's coordinator takes commits from members alone. RetriableError: it does not answer, or a rebalance is
        on.
        """
        if not self.partitions.knows_commit(partition):
            self.partitions.remember_commits(self._consumer.committed([partition], deadline))
        try:
            self._consumer.commit({partition: self.partitions.commit_again(partition)}, deadline)
        except FencedError as error:
            log.warning("Another task has taken %s-%d over: %s", *partition, error)
            return False
        return True
