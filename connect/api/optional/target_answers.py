"""Holds what sink tasks keep of a batch that is put again, where what they send must not be sent twice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

from connect.api.records import Batch, TopicPartition

T = TypeVar("T")
_Identity = tuple[str, int, int | None, int]


class TargetAnswers(Generic[T]):
    """Keeps what a target answered to the parts of a batch, in order, so that the next try goes on behind them.

    The same batch has to have the same parts. The task thread owns it.
    """

    def __init__(self) -> None:
        self._kept: dict[TopicPartition, tuple[_Identity, list[T]]] = {}

    def to(self, batch: Batch) -> list[T]:
        """Return the answers to a batch that was put before, else a new list; what is appended to it is kept."""
        assert batch.consumed is not None
        offsets = batch.consumed.offsets
        first = offsets[0].as_py() if len(offsets) else None
        identity = (batch.topic, len(batch), first, batch.consumed.next_offset)
        kept = self._kept.get(batch.consumed.topic_partition)
        if kept is None or kept[0] != identity:
            kept = self._kept[batch.consumed.topic_partition] = (identity, [])
        return kept[1]

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the answers to the batches of these partitions, as when a batch is done or a partition is lost."""
        for partition in partitions:
            self._kept.pop(partition, None)
