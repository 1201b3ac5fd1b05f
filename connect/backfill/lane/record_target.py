"""Writes a lane's rows to Kafka as records, by the connector's own transforms, converters and `errors.*` settings."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Protocol

from connect.api.optional.bulk import BulkReader
from connect.api.records import Batch
from connect.backfill.job.parts import ChunkPart, Rejected, RemainingChunk, record_parts, rows_read
from connect.backfill.lane.read_ahead import ReadAhead
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.records.pipeline import Encoded, SourcePipeline
from connect.runtime.records.record_sizes import RecordSizes
from connect.runtime.records.source_letters import SourceDeadLetters
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.topics.topic_creation import Topics

_KAFKA_S: Final = 60.0


class KnownTopics(Protocol):
    """Tells of topics of the cluster to which rows go."""

    def partition_counts(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, int]:
        """Return the number of partitions of those of these topics that exist."""

    def topic_ids(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, str]:
        """Return the ids of those of these topics that exist, as far as brokers give ids."""


class RecordTarget:
    """Turns a lane's rows into records for Kafka, on another thread. Owned by the lane's thread."""

    def __init__(
        self, parts: ConnectorParts, reader: BulkReader, task: TaskId, max_bytes: int, known: KnownTopics
    ) -> None:
        """Take the source connector and the reader of its rows.

        A part has about `max_bytes` bytes. `known` tells of the topics to which rows go.
        """
        self._parts = parts
        self._class = parts.resolved["connector.class"]
        self._known = known
        self._ids: dict[str, str] = {}
        self._partitions: dict[str, int] = {}
        self._reader = reader
        self._task = task
        self._max_bytes = max_bytes
        self._ahead = ReadAhead(self._read)

    def parts(self, rest: RemainingChunk, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        """Yield what is left of a chunk as records, for topics that exist.

        ToleranceExceededError, LimitExceededError: there is a bad row, or there are too many.
        """
        return self._ahead.parts(rest, then)

    def close(self) -> None:
        """Close the reader of the source."""
        self._ahead.close()
        self._reader.close()

    def _read(self, rest: RemainingChunk) -> Generator[ChunkPart, None, None]:
        for part in record_parts(self._reader, self._encode, rest, self._max_bytes):
            topics = {raw.topic for raw in part.batches}
            part.partitions = self._partitions_of(topics)
            part.topic_ids = {topic: self._ids[topic] for topic in topics if topic in self._ids}
            yield part

    def _partitions_of(self, topics: Collection[str]) -> Mapping[str, int]:
        """Return the number of partitions of each topic. A topic that does not exist yet is left out for now."""
        new = [topic for topic in topics if topic not in self._partitions]
        if new:
            self._partitions |= self._known.partition_counts(new, Deadline.after(_KAFKA_S))
            self._ids |= self._known.topic_ids(new, Deadline.after(_KAFKA_S))
        return {topic: self._partitions[topic] for topic in topics if topic in self._partitions}

    def _encode(self, batch: Batch, rejected: Sequence[Rejected]) -> Encoded:
        self._tolerance.saw(rows_read(batch, rejected))
        letters = [letter for rows in rejected for letter in self._pipeline.reject(self._class, *rows)]
        if not len(batch):
            return Encoded([], letters)
        made = self._pipeline.encode(batch)
        for raw in made.rows:
            self._topics.ensure(raw.topic, Deadline.after(_KAFKA_S))
        return Encoded(made.rows, [*letters, *made.letters])

    @cached_property
    def _sizes(self) -> RecordSizes:
        return self._parts.clients.producers.record_sizes(self._task, self._parts.resolved)

    @cached_property
    def _letters(self) -> SourceDeadLetters | None:
        parts = self._parts
        return parts.clients.letters.of_source(
            self._task, parts.source_config, parts.resolved, parts.converters.header, self._sizes
        )

    @cached_property
    def _tolerance(self) -> Tolerance:
        add = None if self._letters is None else self._letters.add
        return Tolerance(self._parts.source_config, TaskFigures(), add, str(self._task))

    @cached_property
    def _pipeline(self) -> SourcePipeline:
        parts = self._parts
        give_up, reserved = self._tolerance.give_up, parts.reserved_topics()
        return parts.source_pipeline(give_up, self._letters, sizes=self._sizes, reserved=reserved)

    @cached_property
    def _topics(self) -> Topics:
        return self._parts.clients.topics.created_by(self._task, self._parts.source_config)
