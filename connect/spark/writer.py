"""Implements `df.write.format("connect")` and `writeStream`: each task of Spark hands its rows to a sink task.

A sink knows rows by topic, partition and offset, and many are idempotent by these. So a write is a log of its own: its
topic id and the partitions that stand for Spark's tasks come from an id of the write (of the query, where it is a
stream), and a micro-batch has its own span of offsets. A task or a batch that Spark runs again gives the same rows the
same places, as far as Spark gives it the same rows.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from connect.api.allowed_paths import EVERYWHERE
from connect.api.codec import AvroValues
from connect.api.connector import SinkTask
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, Consumed, TopicPartition
from connect.api.schema import Schema
from connect.lib.deadline import Deadline
from connect.spark.columns import connector_rows, keys_of
from connect.spark.options import FrameOptions
from connect.spark.source_task import retried

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_PARTITIONS: Final = 1 << 10
_WRITES: Final = 1 << 21
_BATCH_OFFSETS: Final = 1 << 40
_CALL_S: Final = 30.0
_LOOK_S: Final = 0.25
_BATCH_ID: Final = "streaming.sql.batchId"
_QUERY_ID: Final = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class Place:
    """Gives the place of one Spark task's rows: a partition of the write's own log, and the offset of its first row."""

    topic_partition: TopicPartition
    first_offset: int
    write: str

    @classmethod
    def of(cls, topic: str, write: str, task: int, batch: int) -> Place:
        """Return the place of the rows of one Spark task. ConnectError: the frame has too many partitions."""
        if task >= _MOST_PARTITIONS:
            raise ConnectError(
                f"The frame has more than {_MOST_PARTITIONS} partitions.", fix="Write frame.coalesce(1000)."
            )
        number = zlib.crc32(write.encode()) % _WRITES
        return cls(TopicPartition(topic, number * _MOST_PARTITIONS + task), batch * _BATCH_OFFSETS, write)


@dataclass
class FrameSinkContext:
    """Serves as the `SinkContext` where there is no worker. A row that the sink refuses fails the write."""

    write: str
    connector: str = "spark"
    task: int = 0
    refused: list[Exception] = field(default_factory=list)

    def gauge(self, name: str, value: float | None) -> None:
        """Do nothing, as metrics are not kept: Spark has its own."""

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Do nothing, as there is no status to explain."""

    def note(self, notes: Sequence[str]) -> None:
        """Do nothing, as there is no status to note it in."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:  # noqa: ARG002 - one write, one topic
        """Keep the error: the write fails with the next call."""
        self.refused.append(RejectedRowsError(rows))

    def request_flush(self, within_s: float = 0.0) -> None:
        """Do nothing: a write flushes again and again in its end."""

    def topic_id(self, topic: str, deadline: Deadline) -> str | None:  # noqa: ARG002 - nobody is asked
        """Return the id of the write's own topic, by which sinks tell its rows from others in the same place."""
        return self.write

    def has_record(self, partition: TopicPartition, offset: int, timestamp_ms: int, deadline: Deadline) -> bool:  # noqa: ARG002 - nobody is asked
        """Return True: a write has one topic, which is never made anew."""
        return True

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:  # noqa: ARG002 - nobody is asked
        """Return True: a write is nobody else's."""
        return True

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        """Return the encoder of values of a schema for Avro files."""
        from connect.convert.avro.values import avro_values

        return avro_values(schema, properties)


def write_rows(options: FrameOptions, place: Place, rows: Iterator[pa.RecordBatch]) -> int:
    """Hand all rows to one sink task, and wait until it says that they are durable; return how many there were.

    ConnectError: a row is refused, or nothing is durable within `connect.timeout.s` of the last row.
    """
    connector = options.build()
    (config, *_) = connector.task_configs(1)
    task = connector.task({**config, **EVERYWHERE})
    assert not hasattr(task, "poll"), "the plug-in is declared as a sink"
    return _Writing(options, place, task).run(rows)


class _Writing:
    """The part of a write that one Spark task does."""

    def __init__(self, options: FrameOptions, place: Place, task: SinkTask) -> None:
        self._options = options
        self._place = place
        self._task = task
        self._ctx = FrameSinkContext(place.write)
        self._next_offset = place.first_offset

    def run(self, rows: Iterator[pa.RecordBatch]) -> int:
        task, place = self._task, self._place
        try:
            retried(lambda: task.open(self._ctx), self._options.timeout_s)
            task.assigned([place.topic_partition])
            for batch in rows:
                if batch.num_rows:
                    self._put(self._batch(batch))
            if self._next_offset > place.first_offset:
                self._make_durable()
        finally:
            task.close()
        return self._next_offset - place.first_offset

    def _batch(self, rows: pa.RecordBatch) -> Batch:
        import numpy as np
        import pyarrow as pa

        values = connector_rows(rows)
        start, self._next_offset = self._next_offset, self._next_offset + len(values)
        offsets = pa.array(np.arange(start, self._next_offset, dtype=np.int64))
        place = self._place.topic_partition
        return Batch(
            place.topic,
            values,
            keys_of(values, self._options.key_columns),
            partition=place.partition,
            consumed=Consumed(place, offsets, self._next_offset),
        )

    def _put(self, batch: Batch) -> None:
        try:
            retried(lambda: self._task.put(batch, Deadline.after(_CALL_S)), self._options.timeout_s)
        except RejectedRowsError as error:
            raise _refused(error) from error
        self._check()

    def _make_durable(self) -> None:
        deadline = Deadline.after(self._options.timeout_s)
        while True:
            try:
                durable = self._task.flush(Deadline.after(_CALL_S))
            except RetriableError:
                durable = {}
                if deadline.expired:
                    raise
            self._check()
            if durable.get(self._place.topic_partition, -1) >= self._next_offset:
                return
            if not deadline.wait(_LOOK_S):
                raise ConnectError(
                    f"The sink still held rows back {self._options.timeout_s:.0f} s after the last one.",
                    key="connect.timeout.s",
                    fix="Have it end its files by the clock (S3: rotate.schedule.interval.ms=1000), or wait longer.",
                )

    def _check(self) -> None:
        if self._ctx.refused:
            raise _refused(self._ctx.refused[0])


def _refused(error: Exception) -> ConnectError:
    return ConnectError(f"The sink refuses rows of the frame: {error}", fix="Mend or filter them; others may be there.")


class ConnectWriter(DataSourceArrowWriter):
    """Carries out one write of a frame. Picklable."""

    def __init__(self, options: FrameOptions, *, overwrite: bool) -> None:
        """Take the options of the write. ConfigError: `overwrite` is asked for, or no topic is named."""
        if overwrite:
            raise ConfigError("A sink connector adds rows, and replaces none.", key="mode", fix="Write mode('append').")
        self._options = options
        self._topic = topic_of(options)
        self._write = secrets.token_hex(16)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        task = TaskContext.get()
        assert task is not None
        place = Place.of(self._topic, self._write, task.partitionId(), 0)
        write_rows(self._options, place, iterator)
        return WriterCommitMessage()


class ConnectStreamWriter(DataSourceStreamArrowWriter):
    """Carries out the writes of a streaming query. Picklable."""

    def __init__(self, options: FrameOptions) -> None:
        """Take the options of the query. ConfigError: no topic is named."""
        self._options = options
        self._topic = topic_of(options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task of a micro-batch."""
        task: Any = TaskContext.get()
        query, batch = task.getLocalProperty(_QUERY_ID), task.getLocalProperty(_BATCH_ID)
        if query is None or batch is None:
            raise ConnectError("Spark does not say which query and batch this is.", fix="Use foreachBatch with write.")
        place = Place.of(self._topic, query, task.partitionId(), int(batch))
        write_rows(self._options, place, iterator)
        return WriterCommitMessage()


def topic_of(options: FrameOptions) -> str:
    """Return the topic that the rows belong to for the sink. ConfigError: the configuration does not name just one."""
    topics = [name.strip() for name in options.connector.get("topics", "").split(",") if name.strip()]
    if len(topics) != 1:
        raise ConfigError(
            f"topics is {options.connector.get('topics')!r}; it must name one topic.",
            key="topics",
            fix="Sinks name their tables and objects by it.",
        )
    return topics[0]
