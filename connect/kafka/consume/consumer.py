"""Reads Kafka records as columns of bytes, as a member of a group or by assignment. It never commits by itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaPartition

from connect import native
from connect.api.errors import ConfigError
from connect.api.records import TopicPartition
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.errors import FencedError, is_of_unjoined_group, is_retriable, translate, translated
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.rights import Needs
from connect.kafka.consume.assignment import Assignment, OnPartitions, names_of
from connect.kafka.consume.columns import PolledBatches, SizeGuess
from connect.kafka.consume.commits import commit
from connect.kafka.consume.failures import Failures
from connect.kafka.consume.fetched_ends import FetchedEnds
from connect.kafka.consume.gaps import Gap
from connect.kafka.consume.last_rows import LastRows
from connect.kafka.consume.offset_resets import OffsetResets
from connect.kafka.consume.partition_ends import PartitionEnds
from connect.kafka.consume.reads import PlainReads, Reads
from connect.kafka.consume.remarks import Remarks
from connect.kafka.consume.reset_policy import ResetPolicy
from connect.kafka.consume.subscription import Subscription
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]

_LOG = logging.getLogger("connect.kafka.consume.consumer")
_LEAVE_S: Final = 0.1
"""One wait for the group lasts at most so long while the consumer leaves it."""
_REFRESH_MS: Final = 60_000
_MOST_RECORDS: Final = 1_000_000
"""consume() accepts no larger number."""
_FILL_S: Final = 0.05
"""A poll goes on collecting for so long after its first record, as large batches cost less than many small ones."""


def _path(settings: dict[str, object]) -> str:
    path = str(settings.pop("consumer.path", "columnar"))
    if path not in {"columnar", "plain"}:
        raise ConfigError(f"Invalid value {path} for consumer.path: must be one of columnar, plain.", key="path")
    return path


def _reads(path: str, consumer: Consumer) -> Reads:
    """Return the way to read for a `path`.

    The columnar way needs native code and librdkafka's own client. Without them the plain way does the same.
    """
    client = client_of(consumer) if path == "columnar" and native.module() is not None else None
    if client is None:
        return PlainReads(consumer)
    from connect.kafka.consume.columnar_reads import ColumnarReads

    return ColumnarReads(consumer, client)


def _reset_policy(settings: dict[str, object]) -> ResetPolicy:
    """Return the policy for offsets that are not in the log, and set librdkafka to report an error then."""
    policy = ResetPolicy.parse(str(settings.get("auto.offset.reset", "latest")))
    settings["auto.offset.reset"] = "error"
    return policy


class BatchConsumer:
    """Reads whole batches as a member of a consumer group. Owned by one thread, which also runs the callbacks.

    `settings` are librdkafka's (`connect.kafka.client.settings`), and `consumer.path`: columnar (the default) or plain.
    `max_poll_bytes` bounds the records of one poll; it and `queued.max.messages.kbytes` bound the memory.
    """

    def __init__(self, settings: Settings, *, max_poll_bytes: int = 4_194_304) -> None:
        cooperative = "cooperative" in str(settings.get("partition.assignment.strategy", "")) or (
            settings.get("group.protocol") == "consumer"
        )
        self._client = Needs.of(settings, "Read")
        self._failures = Failures(self._client)
        # Only librdkafka's end-of-partition event tells the end where transaction markers are the last in the log.
        own: dict[str, object] = {**settings, "enable.partition.eof": True, "error_cb": self._failures.on_error}
        path, policy = _path(own), _reset_policy(own)
        with translated("making a consumer"):
            self._consumer = Consumer(own, logger=client_logger("consumer"))
        self._size = SizeGuess(max_poll_bytes)
        self._closed = False
        # If the garbage collector ends a client, it may hang for ever, in any line of code.
        with ExitStack() as unless_made:
            unless_made.callback(self._consumer.close)
            self._reads = _reads(path, self._consumer)
            unless_made.callback(self._reads.close)
            self.wake = self._reads.wake
            """Has a `poll` that waits look at its deadline again. Any thread may call it, also after `close`."""
            self._ends = PartitionEnds(self._consumer, policy)
            self.fetched = FetchedEnds(self._consumer)
            again = {key: value for key, value in settings.items() if key != "consumer.path"}
            self._resets = OffsetResets(self._consumer, policy, LastRows(again))
            self._assignment = Assignment(
                self._consumer, self._reads, self._ends, self._resets, self._failures, cooperative=cooperative
            )
            refresh_s = int(settings.get("topic.metadata.refresh.interval.ms", _REFRESH_MS)) / 1000
            self._subscription = Subscription(self._consumer, refresh_s=refresh_s)
            self.remarks = Remarks(self._consumer, self._needs)
            unless_made.pop_all()

    def subscribe(
        self,
        topics: Sequence[str] | str,
        on_assigned: OnPartitions,
        on_revoked: OnPartitions,
        on_lost: OnPartitions,
    ) -> None:
        """Join the group. `topics` are names, or one regular expression (Java's) that must match whole names.

        `on_assigned` gets new partitions, and may call `seek` and `pause`. `on_revoked` gets partitions that are still
        owned, and may `commit`. `on_lost` gets those that another member has already. The next `poll` raises what a
        callback raised.
        """
        self._subscription.begin(topics, self._assignment.callbacks(on_assigned, on_revoked, on_lost))

    def assign(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions instead of the former ones, without a group. None starts at the first record."""
        self._assignment.replace(starts)

    def poll(self, max_records: int, deadline: Deadline) -> list[RawBatch]:
        """Return at most `max_records` records, one batch per partition in offset order; empty if none came in time.

        With 0, or while all partitions are paused, it serves rebalances only. Call it at least every
        max.poll.interval.ms, or the group takes the partitions away. A batch's `next_offset` is behind its last record;
        offsets may have gaps from compaction and transactions. Who ends the deadline early calls `wake`, too.
        """
        self._failures.raise_first()
        self._subscription.refresh(deadline)
        if max_records == 0:
            return self._batches(self._serve())
        self._resets.settle(self._restart)
        budget = self._size.records(min(max_records, _MOST_RECORDS))
        taken = self._take(budget, 0.0, deadline)
        while not (taken.batches or taken.errors) and not deadline.expired and not self._failures.is_pending:
            taken = self._take(budget, self._reads.most_wait_s, deadline)
        batches = self._batches(taken)
        if not batches:
            self._failures.raise_first()
        return batches

    def commit(self, offsets: Mapping[TopicPartition, int], deadline: Deadline) -> None:
        """Commit next offsets and wait for the answer.

        Raise RetriableError if brokers did not answer in time, or during a rebalance: poll, then commit the partitions
        still owned. Raise FencedError if another member owns them, which reads again what was not committed.
        """
        if not offsets:
            return
        foreign = sorted(set(offsets) - self._assignment.owned)
        if foreign:
            raise FencedError(
                f"Offsets of {names_of(foreign)} were not committed: this consumer does not own them now."
            )
        with translated(f"committing offsets of {names_of(sorted(offsets))}", self._needs()):
            commit(self._consumer, offsets, deadline, self.remarks.own)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these partitions. Prefetched records are dropped, and read again after `resume`."""
        self._assignment.pause(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these again."""
        self._assignment.resume(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read this owned partition from `offset` on. Inside `on_assigned` it overrides the committed offset."""
        if self._assignment.start_at(partition, offset) or self._resets.moves(partition, offset):
            return
        self._assignment.seek(partition, offset)
        self._resets.forget([partition])
        self._ends.forget([partition])

    def committed(self, partitions: Iterable[TopicPartition], deadline: Deadline) -> dict[TopicPartition, int]:
        """Return the group's committed next offsets; partitions without one are left out."""
        wanted = [KafkaPartition(*tp) for tp in partitions]
        with translated("reading committed offsets", self._needs()):
            found = self._consumer.committed(wanted, timeout=max(0.001, deadline.remaining_s))
        return _offsets(found)

    def position(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the next offset that `poll` gives of each partition; at an end it is behind the transaction markers.

        Partitions of which nothing was read yet are left out, unless they are paused.
        """
        wanted = set(partitions)
        with translated("reading positions"):
            read = _offsets(self._consumer.position([KafkaPartition(*tp) for tp in wanted]))
        known = self._ends.starts | read | self._ends.reached
        return {tp: at for tp, at in known.items() if tp in wanted}

    def take_gaps(self) -> list[Gap]:
        """Return the gaps, which the group never reads, that polls have found since the last call."""
        return self._resets.take_gaps()

    def reached_ends(self) -> dict[TopicPartition, int]:
        """Return the ends of owned partitions of which `poll` has given all readable records, as of the last fetch.

        An end is also behind transaction markers and the rows of aborted transactions.
        """
        return dict(self._ends.reached)

    @property
    def trouble(self) -> str | None:
        """Return a sentence about topics that do not exist, as Kafka last said; None once they exist."""
        return self._subscription.trouble

    def assignment(self) -> frozenset[TopicPartition]:
        """Return the partitions owned now."""
        return frozenset(self._assignment.owned)

    def end_offsets(self) -> dict[TopicPartition, int]:
        """Return the end of each owned partition as of the last fetch; unknown ends are left out.

        Where no fetch tells the end, brokers are asked every few seconds.
        """
        return self._ends.of(self._assignment.owned, self._assignment.paused)

    def deleted_unread(self) -> dict[TopicPartition, range]:
        """Return the offsets that `poll` never gives, as their records were deleted, of partitions that are paused or
        stay behind, where brokers told them. `end_offsets` asks.
        """
        first = self._ends.log_starts
        return {tp: range(at, first[tp]) for tp, at in self.position(first).items() if at < first[tp]}

    def close(self, deadline: Deadline) -> None:
        """Leave the group, with `on_revoked` for owned partitions, and free everything. May be called twice."""
        if self._closed:
            return
        self._closed = True
        try:
            with translated("leaving the group", self._needs()):
                self._consumer.unsubscribe()
            while self._assignment.owned and not deadline.expired:
                self._serve(min(_LEAVE_S, deadline.remaining_s))
        finally:
            self._free(deadline)
        self._failures.raise_first()

    def _free(self, deadline: Deadline) -> None:
        self.fetched.close()
        self._reads.close()
        # This call waits for the coordinator without a time-out.
        leaving = threading.Thread(target=self._consumer.close, name="kafka-consumer-close", daemon=True)
        leaving.start()
        leaving.join(max(0.001, deadline.remaining_s))
        if leaving.is_alive():
            _LOG.warning("The consumer did not leave its group in time; the group drops it after session.timeout.ms.")

    def _needs(self) -> Needs:
        owned = {tp.topic for tp in self._assignment.owned}
        return self._client._replace(topics=owned or self._subscription.names)

    def _take(self, most: int, wait_s: float, deadline: Deadline) -> PolledBatches:
        left_s = deadline.remaining_s
        with translated("polling", self._needs()):
            return self._noted(self._reads.take(most, min(wait_s, left_s), min(_FILL_S, left_s)))

    def _serve(self, timeout_s: float = 0.0) -> PolledBatches:
        with translated("polling", self._needs()):
            return self._noted(self._reads.serve(timeout_s))

    def _noted(self, taken: PolledBatches) -> PolledBatches:
        owned = self._assignment.owned
        self._ends.note({tp: end for tp, end in taken.ends.items() if tp in owned}, taken.batches)
        return taken

    def _batches(self, taken: PolledBatches) -> list[RawBatch]:
        batches = taken.batches
        self._size.learn(batches)
        if batches:
            self._subscription.trouble = None
        # A rebalance in the same poll may have taken a partition away after its records were read.
        owned = self._assignment.owned
        for failed in taken.errors:
            if not self._resets.takes(failed, owned):
                self._note(failed.error)
        mine = [b for b in batches if TopicPartition(b.topic, b.partition or 0) in owned]
        self._resets.read(mine)
        return mine

    def _restart(self, starts: Mapping[TopicPartition, int], gaps: Collection[Gap]) -> None:
        self._assignment.restart(starts)
        self._ends.forget(starts)
        for gap in gaps:
            if not gap.goes_back:
                self._ends.passed(gap.reads_on_at, gap.partition)

    def _note(self, error: KafkaError) -> None:
        if is_retriable(error) and not error.fatal():
            return  # After such errors librdkafka goes on by itself.
        if self._assignment.is_by_hand and is_of_unjoined_group(error):
            return
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._subscription.misses(error)
            return
        self._failures.keep(translate(error, "polling", self._needs()))


def _offsets(found: Iterable[KafkaPartition]) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for part in found:
        if part.error is not None:
            raise translate(part.error, f"reading offsets of {part.topic}-{part.partition}")
        if part.offset >= 0:
            offsets[TopicPartition(part.topic, part.partition)] = part.offset
    return offsets
