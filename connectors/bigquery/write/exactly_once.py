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
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import (
    INSERT_ID,
    KAFKA_OFFSET,
    KAFKA_PARTITION,
    KAFKA_ROW,
    KAFKA_TOPIC,
    KAFKA_TOPIC_ID,
)
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.rows.quoting import backticks, literal
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType, by_name
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.warehouse.table_facts import NewTable
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.held_rows import HeldRows, Run

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

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

    `end` is the number of rows in the stream. `held` are the rows that the table had before the stream was made, and
    those that this owner was given and that are in the table or refused.
    """

    stream: str
    held: HeldRows
    end: int = 0


@dataclass(slots=True)
class CommittedStreams:
    """Adds rows by one stream for each partition. One thread at a time writes each table."""

    warehouse: Warehouse
    storage: StorageWriter
    _owned: dict[_Place, _Owned] = field(default_factory=dict)
    _refused: defaultdict[_Place, dict[tuple[int, int], Exception]] = field(default_factory=lambda: defaultdict(dict))

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Write a batch, and return the refused rows once every other row is in the table exactly once.

        Raise RetriableError if only some rows may be there; the next call asks the table which ones.
        """
        rows = rows.drop_columns([INSERT_ID])
        refused: dict[int, Exception] = {}
        first = 0
        for piece in batch.pieces:
            where = _Place(batch.target, piece.partition, piece.topic_id)
            self._write(where, rows.slice(first, len(piece.offsets)), piece.offsets)
            found = self._refused[where]
            if found:
                places = zip(piece.offsets.to_pylist(), _numbers(rows, first, len(piece.offsets)).tolist(), strict=True)
                refused |= {row: found[place] for row, place in enumerate(places, first) if place in found}
            first += len(piece.offsets)
        for piece in batch.pieces:
            self._refused.pop(_Place(batch.target, piece.partition, piece.topic_id), None)
        return refused

    def close(self) -> None:
        """Close the channel. Streams stay open, as the next owner of a partition ends them."""
        self.storage.close()

    def _write(self, place: _Place, rows: pa.Table, offsets: pa.Int64Array) -> None:
        if not len(offsets):
            return
        own, numbers = offsets.to_numpy(zero_copy_only=False), _numbers(rows, 0, len(rows))
        least, owned = int(own.min()), self._owned.get(place)
        if owned is None or least < owned.held.known_from:
            owned = self._owned[place] = self._own(place, least)
        lacking = owned.held.lacking(own, numbers)
        if lacking is not None:
            _log.info("%d rows of %s-%d were in the table already.", len(own) - len(lacking), *place.partition)
            rows, own, numbers = rows.take(lacking), own[lacking], numbers[lacking]
        try:
            for answer in self.storage.append_at(place.target, owned.stream, rows, owned.end):
                if answer.error is not None:
                    row = answer.end - 1
                    self._refused[place][int(own[row]), int(numbers[row])] = answer.error
                else:
                    owned.end += answer.end - answer.first
        except BaseException:
            # Nobody knows how many rows were added. The next call makes a new stream, and asks the table.
            del self._owned[place]
            raise
        if len(own):
            owned.held.add(own, numbers)

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
        held = HeldRows(first_offset, self._held(place, first_offset))
        _log.info(
            "%s-%d is written to table %s by stream %s; %d earlier streams were ended, and the table holds %d rows "
            "from offset %d on.",
            *partition, target, stream.rsplit("/", 1)[-1], len(others), held.count, first_offset,
        )  # fmt: skip
        return _Owned(stream, held)

    def _held(self, place: _Place, first_offset: int) -> list[tuple[int, Run]]:
        """Return runs of the offsets from `first_offset` on that the table holds of the partition, each with the number
        of its rows.

        Rows of an earlier topic of the same name do not count, as they have another topic id.
        """
        target, partition, topic_id = place
        topic, number, offset, known_id = map(backticks, (KAFKA_TOPIC, KAFKA_PARTITION, KAFKA_OFFSET, KAFKA_TOPIC_ID))
        table = self.warehouse.table(target)
        is_numbered = table is not None and KAFKA_ROW in by_name(table.columns)
        row_number = f"COALESCE({backticks(KAFKA_ROW)}, 0)" if is_numbered else "0"
        # Rows that an earlier version of the sink wrote have no topic id.
        same = "" if topic_id is None else f" AND ({known_id} = {literal(topic_id)} OR {known_id} IS NULL)"
        if topic_id is None:
            _log.warning(
                "The brokers give topic %s no id: if it was made anew, its records count as those of the same offsets "
                "that table %s holds.", partition.topic, target,
            )  # fmt: skip
        sql = (
            "SELECT n AS number, MIN(o) AS first, MAX(o) AS last FROM "  # noqa: S608 - texts are quoted
            "(SELECT n, o, o - ROW_NUMBER() OVER (PARTITION BY n ORDER BY o) AS run FROM "
            f"(SELECT DISTINCT {offset} AS o, {row_number} AS n FROM {self.warehouse.path(target)} WHERE {topic} = "
            f"{literal(partition.topic)}{same} AND {number} = {partition.partition} AND {offset} >= {first_offset})) "
            "GROUP BY n, run ORDER BY first"
        )
        rows = self.warehouse.rows(sql, f"looking for offsets in table {target}")
        return [(row["number"], Run(row["first"], row["last"])) for row in rows]

    def _run(self, sql: str) -> None:
        name = hashlib.sha256(sql.encode()).hexdigest()[:24]
        self.warehouse.run(sql, f"kafka-connect-stream-{name}", "noting a stream")


def _numbers(rows: pa.Table, first: int, size: int) -> NDArray[np.int64]:
    """Return the numbers that some rows have among those of their record."""
    import numpy as np
    import pyarrow.compute as pc

    if KAFKA_ROW not in rows.column_names:
        return np.zeros(size, np.int64)
    numbers: NDArray[np.int64] = pc.fill_null(rows[KAFKA_ROW].slice(first, size), 0).to_numpy()
    return numbers
