"""Implements SourceContext and SinkContext: the framework as a task sees it. Owned by the task thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from connect.api.codec import AvroValues
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition, TopicPartition
from connect.api.schema import Schema
from connect.api.topics import SourceTopics, TopicRecords
from connect.lib.deadline import Deadline
from connect.runtime.parts.clients import Clients
from connect.runtime.sink.commits import SinkCommits
from connect.runtime.sink.membership import SinkMembership
from connect.runtime.source.exactly_once import ConnectorTransactions
from connect.runtime.source.offset_store import SourceOffsets
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_reports import TaskReports
from connect.runtime.topics.record_lookup import has_record

log = logging.getLogger(__name__)


@dataclass
class TaskContext:
    """Answers what one run of a task may ask.

    Only a source has `offsets`; only a sink has `commits` and `membership`.
    """

    connector: str
    task: int
    clients: Clients
    reports: TaskReports
    give_up: Callable[[Batch, Mapping[int, Exception]], None]
    offsets: SourceOffsets | None = None
    transactions: ConnectorTransactions | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    source_topics: Callable[[], SourceTopics] | None = None
    topic_records: Callable[[str, Mapping[str, str], str], TopicRecords] | None = None
    ring: Callable[[], None] | None = None
    commits: SinkCommits | None = None
    membership: SinkMembership | None = None

    def gauge(self, name: str, value: float | None) -> None:
        """Set a metric of this task; None says that its value is not known."""
        if value is None:
            self.reports.figures.unset(name)
        else:
            self.reports.figures.set(name, value)

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Report why a part of the work waits."""
        other_side = "sink" if self.offsets is None else "source"
        self.reports.conditions.part_waits(waiting_for or other_side, reason)

    def note(self, notes: Sequence[str]) -> None:
        """Report notes on the task's work."""
        self.reports.conditions.noted(notes)

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Report that all that the source held at the time `at_s` is stored, and if the source is `behind` since."""
        self.reports.figures.caught_up(at_s, behind=behind)

    def wake(self) -> None:
        """End the wait of a source's poll."""
        assert self.ring is not None
        self.ring()

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return the offset last stored for this source partition."""
        assert self.offsets is not None
        return self.offsets.get(partition)

    def stored_positions(self) -> Sequence[SourcePosition]:
        """Return all stored positions of this connector."""
        assert self.offsets is not None
        return self.offsets.positions()

    def topics(self) -> SourceTopics:
        """Return Kafka's topics, for a source."""
        assert self.source_topics is not None
        return self.source_topics()

    def records_of(self, topic: str, client: Mapping[str, str], prefix: str) -> TopicRecords:
        """Return the records of a topic that tells a source what to do."""
        assert self.topic_records is not None
        return self.topic_records(topic, client, prefix)

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows of a batch: a sink's that was put before, or a source's that no record can hold."""
        self.give_up(batch, rows)

    def request_flush(self, within_s: float = 0.0) -> None:
        """Ask for a flush within `within_s` seconds."""
        assert self.commits is not None
        self.commits.request(within_s)

    def topic_id(self, topic: str, deadline: Deadline) -> str | None:
        """Return the id of a topic that this sink reads."""
        return self.clients.topics.topic_id(TaskId(self.connector, self.task), self.config, topic, deadline)

    def has_record(self, partition: TopicPartition, offset: int, timestamp_ms: int, deadline: Deadline) -> bool:
        """Return True if a partition has a record of this timestamp at this offset now; False if Kafka refuses it."""
        settings = self.clients.topics.looking_up(TaskId(self.connector, self.task), self.config)
        try:
            return has_record(settings, partition, offset, timestamp_ms, deadline)
        except RetriableError:
            raise
        except ConnectError as error:
            log.info(
                "%s-%d: it is not known if %s-%d has a record again: %s", self.connector, self.task, *partition, error
            )
            return False

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:
        """Return True if this task still owns a partition."""
        assert self.membership is not None
        return self.membership.owns(partition, deadline)

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """Return the writer of a schema's values for Avro files."""
        from connect.convert.avro.values import avro_values

        return avro_values(schema, properties)
