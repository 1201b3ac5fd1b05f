"""Writes a lane's rows into a sink: they are there before a marker says so, and once, as chunks are written by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from connect.api.codec import AvroValues
from connect.api.optional.bulk import BulkChunk, BulkReader, BulkWriter, Split
from connect.api.records import Batch, Consumed, TopicPartition
from connect.api.schema import Schema
from connect.backfill.job.kinds import bulk_sink
from connect.backfill.job.parts import ChunkPart, RemainingChunk, rows_read, sifted
from connect.backfill.job.topic_source import TopicReader, reader_settings
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.records.chain import Reject, apply_chain
from connect.runtime.records.pipeline import bad_sink_rows
from connect.runtime.records.tolerance import Origin, Stage, Tolerance, bad_rows
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_metrics import TaskFigures


class SinkDelivery(Protocol):
    """Reads the rows for a sink. Owned by the lane's thread."""

    is_stable: bool
    """Tells if the chunk has the same rows whenever it is read, see `BulkChunk.is_stable`."""
    read: int
    """Counts the rows that were read since `begin`."""

    def begin(self) -> None:
        """Begin a chunk, perhaps not for the first time."""

    def batches(self, chunk: Split) -> Iterator[Batch]:
        """Yield the rows of a chunk as batches for the sink."""

    def letters(self) -> list[RawBatch]:
        """Return the dead letters since `begin`."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Take rows that the sink rejects, from a batch that `batches` yielded."""

    def close(self) -> None:
        """Close the source that is read."""


class SinkTarget:
    """Writes the chunks of a lane into a sink. Owned by the lane's thread. Implements Target."""

    def __init__(self, job: str, sink: ConnectorParts, rows: SinkDelivery, write_s: float) -> None:
        """Take the sink and its rows. A chunk may take `write_s` seconds. ConfigError: the sink has no bulk writer."""
        self._job = job
        self._rows = rows
        self._write_s = write_s
        self._writer: BulkWriter = bulk_sink(sink).bulk_writer(_Context(rows))

    def parts(self, rest: RemainingChunk, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        """Yield one part when the sink has the whole chunk. Nothing is written before the part is asked for."""
        del then
        assert rest.after is None, "a chunk of a sink has one part"
        chunk = rest.chunk
        self._rows.begin()
        named = BulkChunk(self._job, chunk.id, self._rows.is_stable)
        written = self._writer.write(named, self._rows.batches(chunk), Deadline.after(self._write_s))
        yield ChunkPart(
            letters=self._rows.letters(),
            read=self._rows.read,
            rows=written.rows,
            size_bytes=written.size_bytes,
            is_last=True,
        )

    def close(self) -> None:
        """Close the writer and the source of rows."""
        self._writer.close()
        self._rows.close()


class _Context:
    """Answers the writer's calls. Implements BulkSinkContext."""

    def __init__(self, rows: SinkDelivery) -> None:
        self._rows = rows

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        self._rows.reject(batch, rows)

    def avro(self, schema: Schema, properties: Mapping[str, str]) -> AvroValues:
        from connect.convert.avro.values import avro_values

        return avro_values(schema, properties)


class HeldLetters:
    """Keeps dead letters for the transaction of their chunk. Implements RowProducer."""

    def __init__(self) -> None:
        self.letters: list[RawBatch] = []

    @property
    def outstanding(self) -> int:
        """Return 0, as no letter is being sent from here."""
        return 0

    def send(self, batch: RawBatch, deadline: Deadline, receipt: Receipt | None = None) -> None:
        """Keep the letters."""
        del deadline, receipt
        self.letters.append(batch)

    def check(self) -> None:
        """Do nothing, as no letter can have failed."""

    def flush(self, deadline: Deadline) -> None:
        """Do nothing, as the transaction of the chunk sends the letters."""

    def close(self, timeout_s: float = 0.0) -> None:
        """Do nothing, as nothing is open."""


class ReplayedRecords:
    """Reads records of the sink's topics and converts them as the sink's tasks do. Implements SinkDelivery."""

    is_stable = True

    def __init__(self, sink: ConnectorParts, task: TaskId) -> None:
        config = SinkConnectorConfig.parse(sink.resolved)
        self.read = 0
        self._box = HeldLetters()
        self._letters = sink.clients.letters.of_sink(task, config, sink.resolved, self._box)
        add = None if self._letters is None else self._letters.add
        self._tolerance = Tolerance(config, TaskFigures(), add, str(task))
        self._pipeline = sink.sink_pipeline(self._tolerance.give_up)
        self._class = sink.resolved["connector.class"]
        self._reader: BulkReader = TopicReader(reader_settings(sink), self._decode)

    def begin(self) -> None:
        """Begin a chunk: count from zero, and drop the letters."""
        self.read = 0
        self._box.letters = []

    def batches(self, chunk: Split) -> Iterator[Batch]:
        """Yield the rows that the sink's converters and transforms make; its `errors.*` settings decide on bad ones."""
        return self._reader.read(chunk, None)

    def letters(self) -> list[RawBatch]:
        """Return the dead letters: the records as they were read, with Connect's context headers."""
        return self._box.letters

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Take rows that the sink rejects.

        ToleranceExceededError, LimitExceededError: the sink's `errors.*` settings do not allow it.
        """
        self._tolerance.give_up(bad_sink_rows(Stage.TASK_PUT, self._class, batch, rows))

    def close(self) -> None:
        """Do nothing, as nothing is open."""
        self._reader.close()

    def _decode(self, raw: RawBatch) -> Iterable[Batch]:
        self.read += len(raw)
        self._tolerance.saw(len(raw))
        if self._letters is not None:
            self._letters.current = raw
        return self._pipeline.decode(raw)


class CopiedRows:
    """Reads rows of a source connector through its transforms and the sink's, past Kafka. Implements SinkDelivery."""

    is_stable = False

    def __init__(self, source: ConnectorParts, sink: ConnectorParts, reader: BulkReader, task: TaskId) -> None:
        config = SinkConnectorConfig.parse(sink.resolved)
        self.read = 0
        self._source_links = source.chain(source.source_config)
        self._sink_links = sink.chain(config)
        self._source_tolerance = Tolerance(source.source_config, TaskFigures(), None, str(task))
        self._tolerance = Tolerance(config, TaskFigures(), None, str(task))
        self._class = sink.resolved["connector.class"]
        self._source_class = source.resolved["connector.class"]
        self._reader = reader

    def begin(self) -> None:
        """Begin a chunk: count from zero."""
        self.read = 0

    def batches(self, chunk: Split) -> Iterator[Batch]:
        """Yield the rows of a chunk; the offset of each, in partition 0, is its number in the chunk."""
        number = 0
        for batch, rejected in sifted(self._reader, RemainingChunk(chunk)):
            self.read += rows_read(batch, rejected)
            for rows in rejected:
                bad = bad_rows(Stage.TASK_POLL, self._source_class, Origin(rows.batch.topic), rows.reasons)
                self._source_tolerance.give_up(bad)
            for made in apply_chain(self._source_links, batch, self._reject_at_source):
                yield from apply_chain(self._sink_links, _numbered(made, number), self._reject_transform)
                number += len(made)

    def letters(self) -> list[RawBatch]:
        """Return an empty list, as rows that are copied have no dead letters."""
        return []

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Take rows that the sink rejects.

        ToleranceExceededError, LimitExceededError: the sink's `errors.*` settings do not allow it.
        """
        self._tolerance.give_up(bad_sink_rows(Stage.TASK_PUT, self._class, batch, rows))

    def close(self) -> None:
        """Close the reader of the source."""
        self._reader.close()

    @property
    def _reject_transform(self) -> Reject:
        return lambda name, batch, rows: self._tolerance.give_up(bad_sink_rows(Stage.TRANSFORMATION, name, batch, rows))

    @property
    def _reject_at_source(self) -> Reject:
        return lambda name, batch, rows: self._source_tolerance.give_up(
            bad_rows(Stage.TRANSFORMATION, name, Origin(batch.topic), rows)
        )


def _numbered(batch: Batch, first: int) -> Batch:
    import pyarrow as pa

    partition = TopicPartition(batch.topic, 0)
    offsets = pa.array(range(first, first + len(batch)), pa.int64())
    consumed = Consumed(partition, offsets, first + len(batch))
    return Batch(batch.topic, batch.values, batch.keys, batch.headers, batch.timestamps_ms, 0, consumed=consumed)
