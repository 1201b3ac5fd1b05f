"""The framework as a task sees it: SourceContext and SinkContext of the contract. Owned by the task thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from connect.api.codec import AvroValues
from connect.api.records import Batch, TopicPartition
from connect.api.schema import Schema
from connect.api.topics import SourceTopics
from connect.lib.deadline import Deadline
from connect.runtime.parts.clients import Clients
from connect.runtime.sink.sink_loop import SinkLoop
from connect.runtime.source.exactly_once import ConnectorTransactions
from connect.runtime.source.offset_store import SourceOffsets
from connect.runtime.source.source_loop import SourceLoop
from connect.runtime.task.condition import Conditions
from connect.runtime.task.messages import TaskId
from connect.runtime.task.task_metrics import TaskFigures


@dataclass
class TaskContext:
    """What one run of a task may ask; `offsets` of a source alone; its loop once it is there."""

    connector: str
    task: int
    clients: Clients
    figures: TaskFigures
    conditions: Conditions
    offsets: SourceOffsets | None = None
    transactions: ConnectorTransactions | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    source_topics: Callable[[], SourceTopics] | None = None
    sink_loop: SinkLoop | None = field(default=None, init=False)
    source_loop: SourceLoop | None = field(default=None, init=False)

    def gauge(self, name: str, value: float) -> None:
        """Set a metric of this task."""
        self.figures.set(name, value)

    def explain(self, reason: str | None) -> None:
        """Say why part of the work waits."""
        self.conditions.part_waits("sink" if self.offsets is None else "source", reason)

    def caught_up(self, at_s: float) -> None:
        """Say up to which time all that the source held is stored."""
        self.figures.caught_up(at_s)

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return the offset last stored for this source partition."""
        assert self.offsets is not None
        return self.offsets.get(partition)

    def topics(self) -> SourceTopics:
        """Return Kafka's topics, for a source."""
        assert self.source_topics is not None
        return self.source_topics()

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows of a batch that was put before, or that no record can hold."""
        loop = self.sink_loop or self.source_loop
        assert loop is not None
        loop.reject(batch, rows)

    def request_flush(self, within_s: float = 0.0) -> None:
        """Ask for a flush in at most so many seconds."""
        assert self.sink_loop is not None
        self.sink_loop.request_flush(within_s)

    def topic_id(self, topic: str, deadline: Deadline) -> str | None:
        """The id of a topic that this sink reads."""
        return self.clients.topic_id(TaskId(self.connector, self.task), self.config, topic, deadline)

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:
        """Ask whether a partition is still this task's."""
        assert self.sink_loop is not None
        return self.sink_loop.owns(partition, deadline)

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """How values of a schema are written into Avro files."""
        from connect.convert.avro.values import avro_values

        return avro_values(schema, properties)
