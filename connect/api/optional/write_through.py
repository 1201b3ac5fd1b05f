"""Holds the base of sink tasks that have written a batch when `put` returns, so that its offsets may be committed
then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline


class WriteThroughTask:
    """Remembers for each partition the offset behind the last batch that was put. The task thread owns it."""

    def __init__(self) -> None:
        self._next: dict[TopicPartition, int] = {}

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Do nothing: the task keeps nothing of its partitions."""

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """Return the offsets behind all batches that were put."""
        del deadline
        return dict(self._next)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the offsets of these partitions."""
        for partition in partitions:
            self._next.pop(partition, None)

    def _done(self, batch: Batch, bad: Mapping[int, Exception]) -> None:
        """Remember that a batch is written, except for the rows of `bad`. Raise RejectedRowsError with these and their
        errors.
        """
        assert batch.consumed is not None
        self._next[batch.consumed.topic_partition] = batch.consumed.next_offset
        if bad:
            raise RejectedRowsError(bad)
