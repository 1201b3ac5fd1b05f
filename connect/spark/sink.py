"""Writes Structured Streaming into Kafka, each batch once: a sink for `foreachBatch`, where Spark's own repeats rows.

    query = frame.writeStream.foreachBatch(kafka_sink("totals", "localhost:9092", topic="totals")).start()

Rows are shared out among lanes by their key and value alone, so that a batch that is replayed gives each lane the same
rows. A lane writes them and the batch's number in one transaction of the id `<name>-<lane>`; a batch that it has
already is skipped. So a name belongs to one query with one checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.backfill.job.chunk import Step
from connect.backfill.job.markers import compact, parsed
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_KAFKA_S: Final = 60.0


_QUERY_ID: Final = "sql.streaming.queryId"
"""Spark tells a task its query by this property. The id is in the query's checkpoint."""


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """Holds the number of a batch, and the id of its query, which is empty if it is not known."""

    batch: int
    query: str = ""

    @classmethod
    def of(cls, marker: bytes | None) -> WrittenBatch:
        """Return what the value of a marker tells."""
        told = parsed(marker)
        return cls(int(told["batch"]), str(told.get("query", "")))

    @property
    def marker(self) -> bytes:
        """Return the value of the batch's marker."""
        return compact({"batch": self.batch, **({"query": self.query} if self.query else {})})

    def __str__(self) -> str:
        return f"batch {self.batch}" + (f" of query {self.query}" if self.query else "")

    def is_behind(self, sink: str, last: WrittenBatch | None) -> bool:
        """Return False if `last`, the last batch of the sink, is this one. ConnectError: it is no batch before it."""
        if last is None:
            return True
        if (last.query and self.query and last.query != self.query) or self.batch < last.batch:
            raise ConnectError(
                f"Sink {sink} has {last} already, and is given {self}.",
                fix="A new checkpoint is a new query, which begins at batch 0: give the sink another name with it.",
            )
        return self.batch > last.batch


def _nothing(_step: Step, _lane: int, _batch: int) -> None:
    """Do nothing: this is the default for `on_step`."""


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """Produces each batch of a stream to Kafka once. `foreachBatch` calls it with a frame and the batch's number.

    `name` is the sink's for good: it is part of its transactional ids and of its marker topic. The frame has a column
    `value` (text or bytes, null is a tombstone). It may have `key`, and `topic`, which wins over the sink's `topic`.
    `client` holds Java's producer and consumer settings, for instance `security.protocol`. At most `lanes` transactions
    run at a time.
    """

    name: str
    bootstrap_servers: str
    topic: str | None = None
    lanes: int = 4
    client: Mapping[str, str] = field(default_factory=dict, repr=False)
    on_step: Callable[[Step, int, int], None] = _nothing
    """Learns of each step, with its lane and batch, in the process of the task."""

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write the batch, and return when all of it can be read. ConnectError: it cannot be written, or is old."""
        self._make_markers()
        lanes, sink = self.lanes, self
        columns = [name for name in ("key", "value", "topic") if name in frame.columns]
        shared_out = frame.select(*columns).repartition(lanes, *columns)

        def write(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            yield sink.write_lane(context.partitionId(), batch, parts, context.getLocalProperty(_QUERY_ID) or "")

        shared_out.mapInArrow(write, "lane int, rows long").collect()

    def write_lane(self, lane: int, batch: int, parts: Iterable[Any], query: str = "") -> Any:
        """Write one lane of a batch in the process of a task: fence older runs, read the markers, then write.

        `query` is the id of the query. ConnectError: the sink has a later batch, or has batches of another query.
        """
        import pyarrow as pa

        producer = BatchProducer(
            producer_settings(
                self.client_settings, {}, client_id=self._id(lane), transactional_id=self._id(lane)
            ).properties
        )
        try:
            producer.init_transactions(Deadline.after(_KAFKA_S))
            self.on_step(Step.FENCED, lane, batch)
            last = self._last_batch(lane)
            self.on_step(Step.MARKERS_READ, lane, batch)
            rows = 0
            wanted = WrittenBatch(batch, query)
            if wanted.is_behind(self.name, last):
                rows = self._commit(producer, lane, wanted, parts)
        finally:
            producer.close()
        return pa.record_batch([pa.array([lane], pa.int32()), pa.array([rows], pa.int64())], names=["lane", "rows"])

    def _commit(self, producer: BatchProducer, lane: int, wanted: WrittenBatch, parts: Iterable[Any]) -> int:
        deadline, rows = Deadline.after(_KAFKA_S), 0
        producer.begin()
        for part in parts:
            for raw in records_of(part, self.topic):
                producer.send(raw, deadline)
                rows += len(raw)
        self.on_step(Step.ROWS_SENT, lane, wanted.batch)
        producer.send(self._marker(lane, wanted), deadline)
        producer.commit(deadline)
        self.on_step(Step.COMMITTED, lane, wanted.batch)
        return rows

    def _marker(self, lane: int, wanted: WrittenBatch) -> RawBatch:
        import pyarrow as pa

        key, value = compact({"lane": lane}), wanted.marker
        return RawBatch(self._markers, pa.array([value], pa.binary()), pa.array([key], pa.binary()), partition=lane)

    def _last_batch(self, lane: int) -> WrittenBatch | None:
        """Return the newest batch that the lane has committed; None if it has none.

        Older runs are fenced before, so none of them can commit anything later.
        """
        place = TopicPartition(self._markers, lane)
        deadline = Deadline.after(_KAFKA_S)
        end = self._admin().end_offsets([place], deadline)[place]
        settings = consumer_settings(self.client_settings, {}, client_id=self._id(lane)).properties
        found = [
            WrittenBatch.of(value)
            for raw in read_spans(settings, {place: OffsetRange(0, end)}, deadline)
            for value in raw.values.to_pylist()
        ]
        return found[-1] if found else None

    def _make_markers(self) -> None:
        deadline = Deadline.after(_KAFKA_S)
        admin = self._admin()
        admin.create(self._markers, partitions=self.lanes, configs={"cleanup.policy": "compact"}, deadline=deadline)
        found = admin.partition_counts([self._markers], deadline).get(self._markers, self.lanes)
        if found != self.lanes:
            raise ConnectError(
                f"Sink {self.name} began with {found} lanes and is given {self.lanes}: rows of a batch that is "
                "replayed would come to other lanes, which do not have it.",
                fix=f"Set lanes={found}, or give the sink another name with a new checkpoint.",
            )

    def _admin(self) -> TopicAdmin:
        return TopicAdmin(admin_settings(self.client_settings, {}, f"{self.name}-admin").properties)

    def _id(self, lane: int) -> str:
        return f"{self.name}-{lane}"

    @property
    def _markers(self) -> str:
        return f"{self.name}-markers"

    @property
    def client_settings(self) -> dict[str, str]:
        """Return the client settings in the form of a worker's file. They may hold secrets."""
        clients = ("producer", "consumer", "admin")
        own = {f"{client}.{key}": value for client in clients for key, value in self.client.items()}
        return {"bootstrap.servers": self.bootstrap_servers, **own}


def records_of(rows: pa.RecordBatch, topic: str | None) -> Iterator[RawBatch]:
    """Yield records made of rows of Spark, those of one topic together. ConnectError: a row has no topic."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: rows.column(name).cast(pa.binary()) for name in rows.schema.names if name != "topic"}
    own = rows.column("topic") if "topic" in rows.schema.names else pa.nulls(len(rows), pa.string())
    for name in pc.unique(own).to_pylist():
        chosen = pc.is_null(own) if name is None else pc.fill_null(pc.equal(own, name), False)
        found = {key: column.filter(chosen) for key, column in columns.items()}
        target = topic if name is None else name
        if target is None:
            raise ConnectError("The sink is given rows without a topic.", fix="Name one by topic=, or in each row.")
        yield RawBatch(target, found["value"], found.get("key"))


def kafka_sink(
    name: str,
    bootstrap_servers: str,
    *,
    topic: str | None = None,
    lanes: int = 4,
    client: Mapping[str, str] | None = None,
) -> KafkaSink:
    """Return a sink for `foreachBatch` that writes each batch once; see `KafkaSink`."""
    return KafkaSink(name, bootstrap_servers, topic, lanes, dict(client or {}))
