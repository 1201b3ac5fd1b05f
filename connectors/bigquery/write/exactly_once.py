"""Adds rows exactly once, by a committed stream of the Storage Write API for each partition. Threads call it.

A stream belongs to one owner of a partition, which is a task. A new owner creates a stream, notes it in a table beside
the target, and ends all other streams that are noted for the partition. Only then it asks which offsets the target
holds. So BigQuery refuses the rows of an earlier owner that still runs, and no row is added between the question and
the first rows of the new owner. Records whose offsets the target holds are left out when they come again, whatever
was committed in Kafka.
"""

from __future__ import annotations

import hashlib
import logging
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import INSERT_ID, KAFKA_OFFSET, KAFKA_PARTITION, KAFKA_TOPIC, KAFKA_TOPIC_ID
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.rows.quoting import backticks, literal
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.warehouse.table_facts import NewTable
from connectors.bigquery.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)
STREAMS_COLUMNS: Final = (
    ColumnSchema("topic", ColumnType.STRING),
    ColumnSchema("kafka_partition", ColumnType.INTEGER),
    ColumnSchema("stream", ColumnType.STRING),
)


class _Place(NamedTuple):
    """Tells a partition of a topic, and the table that its rows go into. A topic that is made anew has another id."""

    target: str
    partition: TopicPartition
    topic_id: str | None


def streams_table(target: str) -> str:
    """Return the name of the table in which the streams into `target` are noted."""
    return f"_{target}_streams"


@dataclass(slots=True)
class _Owned:
    """Holds the stream of a partition, and what is known of its offsets.

    `end` is the number of rows in the stream. `held` has the runs of offsets, as (first, last), that the table had
    before the stream was made. Of the rows that this owner was given, all before `next_offset` are in the table or
    refused.
    """

    stream: str
    held: list[tuple[int, int]]
    end: int = 0
    next_offset: int = 0

    def may_have(self, offset: int) -> bool:
        """Return True if the table may have rows from this offset on."""
        return offset < self.next_offset or bool(self.held and offset <= self.held[-1][1])

    def has(self, offset: int) -> bool:
        """Return True if the row at this offset is in the table or was refused."""
        return offset < self.next_offset or _holds(self.held, offset)


@dataclass(slots=True)
class CommittedStreams:
    """Adds rows by one stream for each partition. One thread at a time writes each table."""

    warehouse: Warehouse
    storage: StorageWriter
    _owned: dict[_Place, _Owned] = field(default_factory=dict)
    _refused: defaultdict[_Place, dict[int, Exception]] = field(default_factory=lambda: defaultdict(dict))

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Write a batch, and return the refused rows once every other row is in the table exactly once.

        Raise RetriableError if only some rows may be there; the next call asks the table which ones.
        """
        rows = rows.drop_columns([INSERT_ID])
        refused: dict[int, Exception] = {}
        first = 0
        for piece in batch.pieces:
            place = _Place(batch.target, piece.partition, piece.topic_id)
            self._write(place, rows.slice(first, len(piece.offsets)), piece.offsets)
            found = self._refused[place]
            if found:
                offsets = enumerate(piece.offsets.to_pylist(), first)
                refused |= {row: found[offset] for row, offset in offsets if offset in found}
            first += len(piece.offsets)
        for piece in batch.pieces:
            self._refused.pop(_Place(batch.target, piece.partition, piece.topic_id), None)
        return refused

    def close(self) -> None:
        """Close the channel. Streams stay open, as the next owner of a partition ends them."""
        self.storage.close()

    def _write(self, place: _Place, rows: pa.Table, offsets: pa.Int64Array) -> None:
        import pyarrow as pa

        if not len(offsets):
            return
        owned = self._owned.get(place)
        if owned is None:
            owned = self._owned[place] = self._own(place, first_offset=offsets[0].as_py())
        if owned.may_have(offsets[0].as_py()):
            places = [row for row, offset in enumerate(offsets.to_pylist()) if not owned.has(offset)]
            _log.info("%d rows of %s-%d were in the table already.", len(offsets) - len(places), *place.partition)
            rows, offsets = rows.take(pa.array(places, pa.int64())), offsets.take(pa.array(places, pa.int64()))
        try:
            for answer in self.storage.append_at(place.target, owned.stream, rows, owned.end):
                if answer.error is not None:
                    self._refused[place][offsets[answer.end - 1].as_py()] = answer.error
                else:
                    owned.end += answer.end - answer.first
        except BaseException:
            # Nobody knows how many rows were added. The next call makes a new stream, and asks the table.
            del self._owned[place]
            raise
        if len(offsets):
            owned.next_offset = offsets[-1].as_py() + 1

    def _own(self, place: _Place, first_offset: int) -> _Owned:
        target, partition = place.target, place.partition
        stream = self.storage.create_stream(target)
        notes = self.warehouse.path(streams_table(target))
        where = f"topic = {literal(partition.topic)} AND kafka_partition = {partition.partition}"
        self.warehouse.create(NewTable(streams_table(target), STREAMS_COLUMNS))
        self._run(
            f"INSERT INTO {notes} (topic, kafka_partition, stream) "  # noqa: S608 - texts are quoted
            f"VALUES ({literal(partition.topic)}, {partition.partition}, {literal(stream)})"
        )
        noted = f"SELECT DISTINCT stream FROM {notes} WHERE {where}"  # noqa: S608 - texts are quoted
        others = [r["stream"] for r in self.warehouse.rows(noted, "looking for streams") if r["stream"] != stream]
        for other in others:
            self.storage.finalize(other)
        if others:
            listed = ", ".join(map(literal, others))
            self._run(f"DELETE FROM {notes} WHERE {where} AND stream IN ({listed})")  # noqa: S608 - texts are quoted
        held = self._held(place, first_offset)
        _log.info(
            "%s-%d is written to table %s by stream %s; %d earlier streams were ended, and the table holds %d of the "
            "offsets from %d on.",
            *partition, target, stream.rsplit("/", 1)[-1], len(others), sum(b - a + 1 for a, b in held), first_offset,
        )  # fmt: skip
        return _Owned(stream, held)

    def _held(self, place: _Place, first_offset: int) -> list[tuple[int, int]]:
        """Return runs of the offsets from `first_offset` on that the table holds of the partition.

        Rows of an earlier topic of the same name do not count, as they have another topic id.
        """
        target, partition, topic_id = place
        topic, number, offset, known_id = map(backticks, (KAFKA_TOPIC, KAFKA_PARTITION, KAFKA_OFFSET, KAFKA_TOPIC_ID))
        # Rows that an earlier version of the sink wrote have no topic id.
        same = "" if topic_id is None else f" AND ({known_id} = {literal(topic_id)} OR {known_id} IS NULL)"
        if topic_id is None:
            _log.warning(
                "The brokers give topic %s no id: if it was made anew, its records count as those of the same offsets "
                "that table %s holds.", partition.topic, target,
            )  # fmt: skip
        sql = (
            "SELECT MIN(o) AS first, MAX(o) AS last FROM "  # noqa: S608 - texts are quoted
            "(SELECT o, o - ROW_NUMBER() OVER (ORDER BY o) AS run FROM "
            f"(SELECT DISTINCT {offset} AS o FROM {self.warehouse.path(target)} WHERE {topic} = "
            f"{literal(partition.topic)}{same} AND {number} = {partition.partition} AND {offset} >= {first_offset})) "
            "GROUP BY run ORDER BY first"
        )
        rows = self.warehouse.rows(sql, f"looking for offsets in table {target}")
        return [(row["first"], row["last"]) for row in rows]

    def _run(self, sql: str) -> None:
        name = hashlib.sha256(sql.encode()).hexdigest()[:24]
        self.warehouse.run(sql, f"kafka-connect-stream-{name}", "noting a stream")


def _holds(runs: list[tuple[int, int]], offset: int) -> bool:
    index = bisect_right(runs, (offset, offset))
    return any(first <= offset <= last for first, last in runs[max(0, index - 1) : index + 1])
