"""Keeps how far each partition of a sink task was read, taken by the sink, and committed. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch
from connect.runtime.task.committed_lag import CommittedLag, Settled


class SinkPartitions:
    """Keeps the offsets of a sink task's partitions. Owned by the task's thread."""

    def __init__(self) -> None:
        self.assigned: set[TopicPartition] = set()
        self.lag = CommittedLag()
        self._revoked_since_poll: set[TopicPartition] = set()
        self._read: dict[TopicPartition, int] = {}
        self._taken: dict[TopicPartition, int] = {}
        self.firsts: dict[TopicPartition, int] = {}
        """It holds the first offset that was read of each assigned partition."""
        self._commits: dict[TopicPartition, int] = {}
        self._asked: set[TopicPartition] = set()

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Add partitions that the group gave this task."""
        self.assigned.update(partitions)

    def lose(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions that are another task's now."""
        self.lag.lost(partitions)
        for tp in partitions:
            self.assigned.discard(tp)
            self._revoked_since_poll.add(tp)
            self._read.pop(tp, None)
            self._taken.pop(tp, None)
            self.firsts.pop(tp, None)
            self._commits.pop(tp, None)
            self._asked.discard(tp)

    def begin_anew(self, partition: TopicPartition) -> None:
        """Forget the offsets of a partition that stays this task's, as it is read again from an earlier offset on."""
        self.lag.lost([partition])
        for known in (self._read, self._taken, self.firsts, self._commits):
            known.pop(partition, None)
        self._asked.discard(partition)

    def polled(self) -> None:
        """Forget which partitions were revoked; called behind each poll."""
        self._revoked_since_poll.clear()

    def was_revoked(self, partition: TopicPartition) -> bool:
        """Tell if a partition was revoked since the last poll, even if it is assigned again."""
        return partition in self._revoked_since_poll

    def is_current(self, partition: TopicPartition) -> bool:
        """Tell if the sink may take the batches of a partition that the last poll returned."""
        return partition in self.assigned and partition not in self._revoked_since_poll

    def read(self, partition: TopicPartition, raw: RawBatch) -> None:
        """Note that a batch was read, whether the sink will take it or not."""
        assert raw.next_offset is not None
        self.firsts.setdefault(partition, first_offset(raw))
        self._read[partition] = raw.next_offset

    def took(self, partition: TopicPartition, raw: RawBatch) -> None:
        """Note that the sink has taken all of a batch."""
        assert raw.next_offset is not None
        self._taken[partition] = raw.next_offset
        self.lag.took(partition, raw)

    def durable(self, claimed: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return those of the offsets that the sink claims to be durable that may be committed.

        No other offset is: it might lie in the middle of what the sink writes as a unit. A claim beyond the last batch
        that the sink has taken whole waits, as rows of the next one may still be refused.
        """
        taken = {tp: offset for tp, offset in self._taken.items() if tp in self.assigned}
        return {tp: offset for tp, offset in claimed.items() if offset <= taken.get(tp, -1)}

    def taken_ends(self, reached: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return those of the ends that the consumer has reached for which the sink has taken every row before."""
        return {
            tp: end for tp, end in reached.items() if tp in self.assigned and self._read.get(tp) == self._taken.get(tp)
        }

    def durable_ends(
        self, reached: Mapping[TopicPartition, int], durable: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Return the ends of partitions that may be committed: the consumer has reached them, every row before is
        durable, and the group has a smaller offset.

        Between the last row and such an end are only marks of transactions, and rows of aborted ones.
        """
        commits = {**self._commits, **durable}
        return {
            tp: end
            for tp, end in self.taken_ends(reached).items()
            if tp in commits and self._taken.get(tp, 0) <= commits[tp] < end
        }

    def committed(self, offsets: Mapping[TopicPartition, int]) -> list[Settled]:
        """Note offsets that are committed; return the batches that became committed by them."""
        self._commits |= offsets
        return self.lag.committed(offsets)

    def unread_without_commit(self, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
        """Return the partitions of which nothing was read, and for whose last commit the group was not asked."""
        known = {*self.firsts, *self._commits, *self._asked}
        return {tp for tp in partitions if tp in self.assigned and tp not in known}

    def remember_commits(self, offsets: Mapping[TopicPartition, int], asked: Collection[TopicPartition] = ()) -> None:
        """Note the offsets that the group had committed before, and for which partitions it was asked."""
        self._commits |= offsets
        self._asked.update(asked)

    def knows_commit(self, partition: TopicPartition) -> bool:
        """Tell if the last committed offset of a partition is known."""
        return partition in self._commits

    def commit_again(self, partition: TopicPartition) -> int:
        """Return the offset whose commit changes nothing: the last one, or the first that was read."""
        at = self._commits.get(partition, self.firsts.get(partition))
        assert at is not None, f"nothing was read of {partition}"
        return at


def place_of(raw: RawBatch) -> TopicPartition:
    """Return the partition that a batch was read from."""
    if raw.partition is None:
        raise ConnectError(f"A batch read from topic {raw.topic} has no partition.")
    return TopicPartition(raw.topic, raw.partition)


def first_offset(raw: RawBatch) -> int:
    """Return the offset of a batch's first record."""
    assert raw.offsets is not None
    return int(raw.offsets[0].as_py())
