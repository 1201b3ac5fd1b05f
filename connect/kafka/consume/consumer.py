"""Kafka records as columns of bytes, for a group member: polling, rebalances, commits. Never commits by itself."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect import native
from connect.api.errors import ConfigError
from connect.api.records import TopicPartition
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.errors import FencedError, is_retriable, translate, translated
from connect.kafka.client.inner_client import client_of
from connect.kafka.consume.columns import SizeGuess
from connect.kafka.consume.commits import commit
from connect.kafka.consume.reads import PlainReads, Reads, Taken
from connect.kafka.consume.topic_pattern import TopicPattern
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

Partitions = list[TopicPartition]
OnPartitions = Callable[[Partitions], None]
Settings = Mapping[str, str | int | float | bool]

_LOG = logging.getLogger("connect.kafka.consume.consumer")
_WAIT_S: Final = 0.1
"""How long one wait may last, so that a stop is seen soon."""
_LOOK_S: Final = 10.0
_LOOK_AGAIN_S: Final = 1.0
_REFRESH_MS: Final = 60_000
_MOST_RECORDS: Final = 1_000_000
"""consume() takes no more."""
_FILL_S: Final = 0.05
"""How long to go on collecting after the first record: large slices cost less than many small ones."""


def _path(settings: dict[str, object]) -> str:
    path = str(settings.pop("consumer.path", "columnar"))
    if path not in {"columnar", "plain"}:
        raise ConfigError(f"Invalid value {path} for consumer.path: must be one of columnar, plain.", key="path")
    return path


def _reads(path: str, consumer: Consumer) -> Reads:
    """The columnar way needs native code and librdkafka's own client; without them the plain one does the same."""
    client = client_of(consumer) if path == "columnar" and native.module() is not None else None
    if client is None:
        return PlainReads(consumer)
    from connect.kafka.consume.columnar_reads import ColumnarReads

    return ColumnarReads(consumer, client)


class BatchConsumer:
    """A member of a consumer group that reads whole batches; owned by one thread, callbacks come on that thread.

    `settings` are librdkafka's (`connect.kafka.client.settings`), and `consumer.path`: columnar (the default) or plain.
    `max_poll_bytes` bounds what one poll gathers: with it and `queued.max.messages.kbytes` memory stays bounded.
    """

    def __init__(self, settings: Settings, *, max_poll_bytes: int = 4_194_304) -> None:
        self._cooperative = "cooperative" in str(settings.get("partition.assignment.strategy", "")) or (
            settings.get("group.protocol") == "consumer"
        )
        self._events = _Events()
        own: dict[str, object] = {**settings, "error_cb": self._events.on_error}
        path = _path(own)
        with translated("making a consumer"):
            self._consumer = Consumer(own, logger=client_logger("consumer"))
        self._reads = _reads(path, self._consumer)
        self._size = SizeGuess(max_poll_bytes)
        self._owned: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._start_offsets: dict[TopicPartition, int] | None = None
        self._raised: Exception | None = None
        self._names: frozenset[str] = frozenset()
        self._missing: set[str] = set()
        self._trouble: str | None = None
        self._look_again_s: float | None = None
        self._callbacks: dict[str, Callable[[Consumer, list[KafkaPartition]], None]] = {}
        self._pattern: TopicPattern | None = None
        self._refresh_s = int(settings.get("topic.metadata.refresh.interval.ms", _REFRESH_MS)) / 1000
        self._closed = False

    def subscribe(
        self,
        topics: Sequence[str] | str,
        on_assigned: OnPartitions,
        on_revoked: OnPartitions,
        on_lost: OnPartitions,
    ) -> None:
        """Join the group. `topics`: names, or one regular expression (Java's) that must match whole names.

        on_assigned: partitions that are new here; `seek` and `pause` may be called inside. on_revoked: still owned,
        `commit` works inside. on_lost: already another member's. What a callback raises, the next `poll` raises.
        """
        self._callbacks = {
            "on_assign": lambda _, parts: self._assign(parts, on_assigned),
            "on_revoke": lambda _, parts: self._unassign(parts, on_revoked),
            "on_lost": lambda _, parts: self._unassign(parts, on_lost),
        }
        if isinstance(topics, str):
            self._pattern = TopicPattern(self._consumer, topics, refresh_s=self._refresh_s)
            self._follow_pattern(Deadline.after(_LOOK_S))
        else:
            self._join(topics)

    def assign(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions instead of the former ones, outside of any group; None: from the first record on."""
        former = self._owned
        parts = [KafkaPartition(*tp, OFFSET_BEGINNING if at is None else at) for tp, at in starts.items()]
        self._reads.unassigned(former)
        self._reads.assigned(list(starts))
        self._owned = set(starts)
        with translated(f"reading {_names(sorted(starts))}"):
            self._consumer.assign(parts)

    def poll(self, max_records: int, deadline: Deadline) -> list[RawBatch]:
        """At most `max_records` records as one batch per partition, each in offset order; empty when none came in time.

        0 serves rebalances only, and so does a poll while everything is paused: call it at least every
        max.poll.interval.ms, or the group takes the partitions away. `next_offset` is behind the last record read;
        offsets may have gaps from compaction and transactions.
        """
        self._raise_from_callback()
        self._follow_pattern(deadline)
        self._look_for_missing(deadline)
        if max_records == 0:
            return self._batches(self._serve())
        budget = self._size.records(min(max_records, _MOST_RECORDS))
        taken = self._take(budget, 0.0, deadline)
        while not any(taken) and not deadline.expired and self._raised is None:
            taken = self._take(budget, _WAIT_S, deadline)
        batches = self._batches(taken)
        if not batches:
            self._raise_from_callback()
        return batches

    def commit(self, offsets: Mapping[TopicPartition, int], deadline: Deadline) -> None:
        """Commit next offsets and wait for the answer.

        RetriableError: the brokers did not answer in time, or a rebalance is on: poll, then commit what is still
        owned. FencedError: another member owns the partitions; what was not committed is read again there.
        """
        if not offsets:
            return
        foreign = sorted(set(offsets) - self._owned)
        if foreign:
            raise FencedError(f"Offsets of {_names(foreign)} were not committed: this consumer does not own them now.")
        with translated(f"committing offsets of {_names(sorted(offsets))}"):
            commit(self._consumer, offsets, deadline)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these; prefetched records are thrown away and read again on resume."""
        chosen = set(partitions)
        self._paused |= chosen
        with translated(f"pausing {_names(sorted(chosen))}"):
            self._consumer.pause([KafkaPartition(*tp) for tp in chosen & self._active()])

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these again."""
        chosen = set(partitions)
        self._paused -= chosen
        with translated(f"resuming {_names(sorted(chosen))}"):
            self._consumer.resume([KafkaPartition(*tp) for tp in chosen & self._active()])

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read this owned partition from `offset` on; inside on_assigned: start there, not at the committed offset."""
        if self._start_offsets is not None:
            self._start_offsets[partition] = offset
            return
        with translated(f"seeking to offset {offset} of {_names([partition])}"):
            self._consumer.seek(KafkaPartition(partition.topic, partition.partition, offset))

    def committed(self, partitions: Iterable[TopicPartition], deadline: Deadline) -> dict[TopicPartition, int]:
        """The group's committed next offsets; partitions without one are left out."""
        wanted = [KafkaPartition(*tp) for tp in partitions]
        with translated("reading committed offsets"):
            found = self._consumer.committed(wanted, timeout=max(0.001, deadline.remaining_s))
        return _offsets(found)

    def position(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The next offset `poll` gives of each; partitions of which nothing was read yet are left out."""
        with translated("reading positions"):
            return _offsets(self._consumer.position([KafkaPartition(*tp) for tp in partitions]))

    @property
    def trouble(self) -> str | None:
        """The topics that do not exist, as Kafka last said it; None once they do."""
        return self._trouble

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions owned now."""
        return frozenset(self._owned)

    def end_offsets(self) -> dict[TopicPartition, int]:
        """The end of each owned partition as of the last fetch, without asking a broker; unknown ones are left out."""
        found: dict[TopicPartition, int] = {}
        for tp in self._owned:
            with translated(f"reading the end of {_names([tp])}"):
                marks = self._consumer.get_watermark_offsets(KafkaPartition(*tp), cached=True)
            if marks is not None and marks[1] >= 0:
                found[tp] = marks[1]
        return found

    def lag(self) -> dict[TopicPartition, int]:
        """Records between position and end of each owned partition, as of the last fetch; unknown ones are left out."""
        ends = self.end_offsets()
        positions = self.position(ends)
        return {tp: max(0, ends[tp] - positions[tp]) for tp in positions}

    def close(self, deadline: Deadline) -> None:
        """Leave the group, with on_revoked for what is owned, and free everything. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._consumer.unsubscribe()
        while self._owned and not deadline.expired:
            self._serve(min(_WAIT_S, deadline.remaining_s))
        self._reads.close()
        # It waits for the coordinator without a timeout.
        leaving = threading.Thread(target=self._consumer.close, name="kafka-consumer-close", daemon=True)
        leaving.start()
        leaving.join(max(0.001, deadline.remaining_s))
        if leaving.is_alive():
            _LOG.warning("The consumer did not leave its group in time; the group drops it after session.timeout.ms.")
        self._raise_from_callback()

    def _join(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        with translated(f"subscribing to {', '.join(sorted(names))}"):
            if names:
                self._consumer.subscribe(sorted(names), **self._callbacks)
            else:
                self._consumer.unsubscribe()

    def _look_for_missing(self, deadline: Deadline) -> None:
        """While a topic is missing, ask for the list of all topics, which makes librdkafka join it once it is there."""
        if self._look_again_s is None or time.monotonic() < self._look_again_s:
            return
        self._look_again_s = None
        try:
            known = self._consumer.list_topics(timeout=min(_LOOK_S, max(0.1, deadline.remaining_s))).topics
        except KafkaException as error:
            if not is_retriable(error.args[0]):
                raise translate(error.args[0], "looking for missing topics") from error
            known = {}
        missing = sorted(name for name in self._names if name not in known)
        self._trouble = f"Waiting for a topic that does not exist: {', '.join(missing[:5])}." if missing else None
        if missing:
            self._look_again_s = time.monotonic() + _LOOK_AGAIN_S

    def _follow_pattern(self, deadline: Deadline) -> None:
        names = self._pattern.changed(deadline) if self._pattern is not None else None
        if names is not None:
            self._join(names)

    def _take(self, most: int, wait_s: float, deadline: Deadline) -> Taken:
        left_s = deadline.remaining_s
        with translated("polling"):
            return self._reads.take(most, min(wait_s, left_s), min(_FILL_S, left_s))

    def _serve(self, timeout_s: float = 0.0) -> Taken:
        with translated("polling"):
            return self._reads.serve(timeout_s)

    def _batches(self, taken: Taken) -> list[RawBatch]:
        batches, errors = taken
        self._size.learn(batches)
        if batches:
            self._trouble = None
        for error in errors:
            self._note(error)
        # A rebalance inside the same poll may have taken a partition away after its records were read.
        return [b for b in batches if TopicPartition(b.topic, b.partition or 0) in self._owned]

    def _note(self, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF or (is_retriable(error) and not error.fatal()):  # noqa: SLF001
            return  # librdkafka goes on by itself.
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._look_again_s = self._look_again_s or time.monotonic() + _LOOK_AGAIN_S
            if str(error) not in self._missing:
                self._missing.add(str(error))
                _LOG.warning("Waiting for a topic: %s", error.str())
            self._trouble = f"Waiting for a topic: {error.str()}."
            return
        self._raised = self._raised or translate(error, "polling")

    def _raise_from_callback(self) -> None:
        if (fatal := self._events.fatal) is not None:
            raise translate(fatal, "polling")
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def _assign(self, parts: list[KafkaPartition], on_assigned: OnPartitions) -> None:
        given = [TopicPartition(p.topic, p.partition) for p in parts]
        self._owned |= set(given)
        self._start_offsets = {}
        self._call(on_assigned, given)
        starts, self._start_offsets = self._start_offsets, None
        for part in parts:
            part.offset = starts.get(TopicPartition(part.topic, part.partition), part.offset)
        self._reads.assigned(given)
        if self._cooperative:
            self._consumer.incremental_assign(parts)
        else:
            self._consumer.assign(parts)
        paused = [KafkaPartition(*tp) for tp in given if tp in self._paused]
        if paused:
            self._consumer.pause(paused)

    def _unassign(self, parts: list[KafkaPartition], callback: OnPartitions) -> None:
        gone = [TopicPartition(p.topic, p.partition) for p in parts]
        self._call(callback, gone)
        self._reads.unassigned(gone)
        self._owned -= set(gone)
        self._paused -= set(gone)

    def _call(self, callback: OnPartitions, partitions: Partitions) -> None:
        # An exception that went through consume() would take the records of that call with it.
        try:
            callback(partitions)
        except Exception as error:  # noqa: BLE001 - raised by the next poll
            self._raised = self._raised or error

    def _active(self) -> set[TopicPartition]:
        return {TopicPartition(p.topic, p.partition) for p in self._consumer.assignment()}


class _Events:
    """What librdkafka reports aside of records; apart from the consumer so that no reference cycle is made."""

    def __init__(self) -> None:
        self.fatal: KafkaError | None = None

    def on_error(self, error: KafkaError) -> None:
        if error.fatal() and self.fatal is None:
            self.fatal = error


def _offsets(found: Iterable[KafkaPartition]) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for part in found:
        if part.error is not None:
            raise translate(part.error, f"reading offsets of {part.topic}-{part.partition}")
        if part.offset >= 0:
            offsets[TopicPartition(part.topic, part.partition)] = part.offset
    return offsets


def _names(partitions: Sequence[TopicPartition], most: int = 5) -> str:
    shown = ", ".join(f"{topic}-{partition}" for topic, partition in partitions[:most])
    return shown if len(partitions) <= most else f"{shown} and {len(partitions) - most} more"
