"""Keeps a consumer's partitions through rebalances, pauses and chosen starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition
from connect.kafka.client.errors import translated
from connect.kafka.consume.failures import Failures
from connect.kafka.consume.offset_resets import OffsetResets
from connect.kafka.consume.partition_ends import PartitionEnds
from connect.kafka.consume.reads import Reads

Partitions = list[TopicPartition]
OnPartitions = Callable[[Partitions], None]
RebalanceCallbacks = Mapping[str, Callable[[Consumer, list[KafkaPartition]], None]]


class Assignment:
    """Carries out rebalances and keeps the assigned partitions. Owned by the consumer's thread, as callbacks are."""

    def __init__(
        self,
        consumer: Consumer,
        reads: Reads,
        ends: PartitionEnds,
        resets: OffsetResets,
        failures: Failures,
        *,
        cooperative: bool,
    ) -> None:
        self._consumer = consumer
        self._reads = reads
        self._ends = ends
        self._resets = resets
        self._failures = failures
        self._cooperative = cooperative
        self.owned: set[TopicPartition] = set()
        self.paused: set[TopicPartition] = set()
        self.is_by_hand = False
        """Is True if the partitions were chosen by `replace` and not assigned by a group."""
        self._start_offsets: dict[TopicPartition, int] | None = None
        self._chosen: dict[TopicPartition, int] = {}
        """Holds the last known places of owned partitions that did not start at the group's committed offset.

        librdkafka tells no position of a partition that was assigned again until it has given a row of it.
        """

    def callbacks(
        self, on_assigned: OnPartitions, on_revoked: OnPartitions, on_lost: OnPartitions
    ) -> RebalanceCallbacks:
        """Return the callbacks that a subscription hands to librdkafka; see `BatchConsumer.subscribe`."""
        return {
            "on_assign": lambda _, parts: self._assign(parts, on_assigned),
            "on_revoke": lambda _, parts: self._unassign(parts, on_revoked),
            "on_lost": lambda _, parts: self._unassign(parts, on_lost),
        }

    def replace(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions instead of the former ones, without a group. None starts at the first record."""
        former, self.is_by_hand = self.owned, True
        parts = [KafkaPartition(*tp, OFFSET_BEGINNING if at is None else at) for tp, at in starts.items()]
        self._reads.unassigned(former)
        self._ends.forget(former)
        self._resets.forget(former)
        self._reads.assigned(list(starts))
        self.owned = set(starts)
        self._chosen = {TopicPartition(p.topic, p.partition): p.offset for p in parts}
        with translated(f"reading {names_of(sorted(starts))}"):
            self._consumer.assign(parts)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these partitions, also if they come back in a rebalance."""
        chosen = set(partitions)
        self.paused |= chosen
        with translated(f"pausing {names_of(sorted(chosen))}"):
            self._consumer.pause([KafkaPartition(*tp) for tp in chosen & self._active()])

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions again."""
        chosen = set(partitions)
        self.paused -= chosen
        with translated(f"resuming {names_of(sorted(chosen))}"):
            self._consumer.resume([KafkaPartition(*tp) for tp in chosen & self._active()])

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read this owned partition from an offset on."""
        with translated(f"seeking to offset {offset} of {names_of([partition])}"):
            self._consumer.seek(KafkaPartition(partition.topic, partition.partition, offset))
        self._chosen[partition] = offset

    def start_at(self, partition: TopicPartition, offset: int) -> bool:
        """Let a partition that is just being assigned start at an offset. Return False if none is being assigned."""
        if self._start_offsets is None:
            return False
        self._start_offsets[partition] = offset
        return True

    def restart(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read these owned partitions, which librdkafka has stopped reading, from these offsets on."""
        moved = list(starts) if self._is_incremental else list(self.owned)
        with translated(f"reading {names_of(sorted(starts))} from other offsets"):
            # A stopped partition takes no seek, so it has to be assigned again. The others go on where they are.
            read = {
                TopicPartition(p.topic, p.partition): p.offset
                for p in self._consumer.position([KafkaPartition(*tp) for tp in moved if tp not in starts])
                if p.offset >= 0
            }
            self._chosen |= read | dict(starts)
            parts = [KafkaPartition(*tp, self._chosen.get(tp, OFFSET_STORED)) for tp in sorted(moved)]
            self._reads.unassigned(moved)
            if self._is_incremental:
                self._consumer.incremental_unassign([KafkaPartition(*tp) for tp in moved])
                self._consumer.incremental_assign(parts)
            else:
                self._consumer.assign(parts)
            # librdkafka's thread ends the former fetches, and their queue, before it answers the next request.
            self._consumer.assignment()
            self._reads.assigned(moved)
            resting = [KafkaPartition(*tp) for tp in moved if tp in self.paused]
            if resting:
                self._consumer.pause(resting)

    @property
    def _is_incremental(self) -> bool:
        return self._cooperative and not self.is_by_hand

    def _assign(self, parts: list[KafkaPartition], on_assigned: OnPartitions) -> None:
        given = [TopicPartition(p.topic, p.partition) for p in parts]
        self.owned |= set(given)
        self._start_offsets = {}
        self._call(on_assigned, given)
        starts, self._start_offsets = self._start_offsets, None
        self._chosen |= starts
        for part in parts:
            part.offset = starts.get(TopicPartition(part.topic, part.partition), part.offset)
        self._reads.assigned(given)
        if self._cooperative:
            self._consumer.incremental_assign(parts)
        else:
            self._consumer.assign(parts)
        paused = [KafkaPartition(*tp) for tp in given if tp in self.paused]
        if paused:
            self._consumer.pause(paused)

    def _unassign(self, parts: list[KafkaPartition], callback: OnPartitions) -> None:
        gone = [TopicPartition(p.topic, p.partition) for p in parts]
        self._call(callback, gone)
        self._reads.unassigned(gone)
        self._ends.forget(gone)
        self.owned -= set(gone)
        self.paused -= set(gone)
        self._resets.forget(gone)
        for tp in gone:
            self._chosen.pop(tp, None)

    def _call(self, callback: OnPartitions, partitions: Partitions) -> None:
        # An exception that passes through consume() would lose the records of that call.
        try:
            callback(partitions)
        except Exception as error:  # noqa: BLE001 - raised by the next poll
            self._failures.keep(error)

    def _active(self) -> set[TopicPartition]:
        return {TopicPartition(p.topic, p.partition) for p in self._consumer.assignment()}


def names_of(partitions: Sequence[TopicPartition], most: int = 5) -> str:
    """Return a text with the first of these partitions, and how many more there are."""
    shown = ", ".join(f"{topic}-{partition}" for topic, partition in partitions[:most])
    return shown if len(partitions) <= most else f"{shown} and {len(partitions) - most} more"
