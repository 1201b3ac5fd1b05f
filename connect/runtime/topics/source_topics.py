"""Reads Kafka's topics for a source: implements the contract's `SourceTopics` with a consumer of its own."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from connect.api import schema as s
from connect.api.errors import ConfigError, RetriableError
from connect.api.records import Batch, Column, TopicPartition
from connect.api.state import StateEntry
from connect.kafka.admin.topic_specs import InternalTopic
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import ClientSettings
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.records.pipeline import Converters, SinkPipeline
from connect.runtime.records.tolerance import BadRow

log = logging.getLogger(__name__)

POLL_RECORDS: Final = 10_000
CLOSE_S: Final = 5.0
_STATE_S: Final = 300.0
_OFFSETS_S: Final = 30.0
_OPEN_LOOK_S: Final = 0.05
Refuse = Callable[[Batch, Mapping[int, Exception]], None]
"""Gives up rows that cannot be converted, as `SourceContext.reject` does."""


def state_records(batch: Batch) -> list[RawBatch]:
    """Return the state entries of a batch as records of the task's state topic."""
    if batch.state is None or not batch.state.entries:
        return []
    import pyarrow as pa

    keys, values = zip(*batch.state.entries, strict=True)
    return [
        RawBatch(
            batch.state.topic,
            pa.array(values, pa.binary()),
            keys=pa.array(keys, pa.binary()),
            partition=batch.state.partition,
        )
    ]


class _Refusal(NamedTuple):
    given: Batch
    row: int
    error: Exception


class KafkaTopics:
    """Reads topics for a source, see `SourceTopics`. Owned by the task thread. It connects at the first call."""

    def __init__(
        self,
        consumer: ClientSettings,
        admin: ClientSettings,
        converters: Converters,
        refuse: Refuse,
        state_topic: Callable[[str, int], InternalTopic] | None,
    ) -> None:
        """Take the parts. `state_topic` describes a compacted topic by name and size; None if not exactly once."""
        # If an offset is gone, events were deleted before they were read. Fail then, and never go on elsewhere.
        self._settings = {**consumer.properties, "isolation.level": "read_committed", "auto.offset.reset": "error"}
        self._admin = TopicAdmin(admin.properties)
        self._refuse = refuse
        self._state_topic = state_topic
        self._bad: list[BadRow] = []
        self._pipeline = SinkPipeline([], converters, self._bad.extend)
        self._raw: deque[RawBatch] = deque()
        self._ready: deque[Batch] = deque()
        self._to_refuse: dict[int, _Refusal] = {}
        """Holds the bad rows of the read that `_ready` is of, by their offsets, until a batch behind them is given."""
        self._unread: set[TopicPartition] = set()
        self._reading = False
        self._waited_for: dict[TopicPartition, int] = {}
        """Holds the ends of state partitions that an open transaction kept from being read."""

    def partition_counts(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, int]:
        """Return the number of partitions of each of these topics that exists."""
        return self._admin.partition_counts(topics, deadline)

    def read(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions from these offsets on."""
        self._raw.clear()
        self._ready.clear()
        self._to_refuse.clear()
        self._unread = {place for place, start in starts.items() if start is None}
        self._consumer.assign(starts)

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next rows of one partition; None if none came by the deadline."""
        if not self._ready and not self._raw:
            self._raw.extend(self._consumer.poll(POLL_RECORDS, deadline))
        if not self._ready and self._raw:
            # A record that cannot be converted for now keeps its place.
            self._ready.extend(self._decoded(self._raw[0]))
            self._raw.popleft()
        if not self._ready:
            return None
        self._refuse_before(self._ready[0])
        return self._ready.popleft()

    def make_state(self, topic: str, partitions: int, deadline: Deadline) -> int:
        """Make the state topic if it is missing, and return its number of partitions."""
        if self._state_topic is None:
            raise ConfigError(
                "This connector remembers what it has written, in one transaction with it.",
                key="exactly.once.support",
                fix="Set exactly.once.source.support=enabled for the worker, and exactly.once.support=required here.",
            )
        self._admin.ensure_internal([self._state_topic(topic, partitions)], deadline)
        return self._admin.partition_counts([topic], deadline)[topic]

    def state(
        self, topic: str, partition: int, deadline: Deadline, *, committed_only: bool = False
    ) -> Iterator[StateEntry]:
        """Yield every entry of the topic's partition, the newest of a key last.

        A transaction that is open there is waited for until the deadline: another one may be committed behind it, whose
        offsets are stored, while its entries cannot be read yet. RetriableError: it is still open then. The next call
        waits for no more than this one: otherwise tasks whose transactions overlap would make it wait for ever.

        With `committed_only` nothing is waited for, and entries behind an open transaction are left out.
        """
        place = TopicPartition(topic, partition)
        # The deadline limits the waiting. An answer of the brokers may take longer, or an open transaction is not told.
        asking = Deadline.after(_OFFSETS_S, deadline.stop)
        start = self._admin.beginning_offsets([place], asking)[place]
        end = self._admin.end_offsets([place], asking, committed_only=committed_only)[place]
        if not committed_only:
            # The end is nearer than the one before if the topic was made anew.
            end = self._waited_for[place] = min(end, self._waited_for.get(place, end))
        while not committed_only and self._admin.end_offsets([place], asking, committed_only=True)[place] < end:
            asking = Deadline.after(_OFFSETS_S, deadline.stop)
            if not deadline.wait(_OPEN_LOOK_S):
                raise RetriableError(
                    f"A transaction is open in {topic}-{partition}, so that what was written up to offset {end} cannot "
                    "be read yet."
                )
        self._waited_for.pop(place, None)
        reading = Deadline.after(_STATE_S, deadline.stop)
        for raw in read_spans(self._settings, {place: OffsetRange(start, end)}, reading):
            assert raw.keys is not None
            for key, value in zip(raw.keys.to_pylist(), raw.values.to_pylist(), strict=True):
                yield StateEntry(key, value)

    def close(self) -> None:
        """Close the consumer."""
        if not self._reading:
            return
        try:
            self._consumer.assign({})
        finally:
            self._consumer.close(Deadline.after(CLOSE_S))

    @cached_property
    def _consumer(self) -> BatchConsumer:
        made = BatchConsumer(self._settings)
        self._reading = True
        return made

    def _decoded(self, raw: RawBatch) -> list[Batch]:
        self._bad.clear()
        batches = self._pipeline.decode(raw)
        assert raw.partition is not None  # a consumer's records have one
        place = TopicPartition(raw.topic, raw.partition)
        differing = None
        if place in self._unread and self._bad and len(self._bad) == len(raw):
            differing = _of_another_converter(place, self._bad)
            log.warning("%s", differing)
        self._unread.discard(place)
        if self._bad:
            offsets = raw.offsets.to_pylist() if raw.offsets is not None else []
            errors = {offsets.index(row.offset): differing or row.error for row in self._bad}
            given = Batch(raw.topic, Column.from_arrow(raw.values, s.BYTES.as_optional()))
            refused = replace(given, partition=raw.partition)
            self._to_refuse = {offsets[row]: _Refusal(refused, row, error) for row, error in errors.items()}
        return batches

    def _refuse_before(self, batch: Batch) -> None:
        """Give up the bad rows that nobody reads again once the batch was taken: its next offset is behind them."""
        assert batch.consumed is not None
        passed = [offset for offset in self._to_refuse if offset < batch.consumed.next_offset]
        if passed:
            given = self._to_refuse[passed[0]].given
            self._refuse(given, {self._to_refuse[offset].row: self._to_refuse[offset].error for offset in passed})
        for offset in passed:
            del self._to_refuse[offset]


def _of_another_converter(place: TopicPartition, bad: Sequence[BadRow]) -> ConfigError:
    key = bad[0].stage.lower().replace("_", ".")
    return ConfigError(
        f"None of the first {len(bad)} records of {place.topic}-{place.partition} can be read by {key}: {bad[0].error}",
        key=key,
        fix=f"Give this connector the {key}, with all {key}.* keys, of those who write the topic.",
    )
