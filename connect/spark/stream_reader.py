"""Implements `spark.readStream.format("connect")`: a source task on the driver, whose batches are Spark's
micro-batches.

A batch is read ahead by the driver's Python and travels to the tasks as Arrow. Its offset says where the source goes on
behind it, how many rows it has of each source partition, and its number, without which Spark would take two batches for
one. After a crash Spark asks for the last batch again: so many rows are read again from where it began. So a source
whose rows stay as they are, in their order, gives the same batch; one whose rows change may give some of them again.
A batch ends where the source can go on behind it, and is larger than its limit until then.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from connect.api.errors import ConnectError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.runtime.source.ledger import partition_key
from connect.spark.columns import frame_rows, frame_schema
from connect.spark.options import FrameOptions
from connect.spark.source_task import OpenTask, positions_of, retried

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_log = logging.getLogger(__name__)
_POLL_S: Final = 0.5
"""A poll lasts so many seconds. If it gives nothing, Spark asks again at once."""
_PART_ROWS: Final = 20_000

Offset = dict[str, Any]


@dataclass(slots=True)
class _MicroBatch:
    """Holds rows that were read ahead, in order, and the positions of their source partitions behind them.

    `unplaced` counts the rows of each source partition behind which it has no new position yet.
    """

    start: Offset
    batches: list[Batch] = field(default_factory=list)
    positions: dict[str, str] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    unplaced: Counter[str] = field(default_factory=Counter)

    def add(self, batch: Batch) -> None:
        partition = _partition(batch)
        known = {**self.start.get("positions", {}), **self.positions}
        new = {key: text for key, text in positions_of(batch).items() if known.get(key) != text}
        self.batches.append(batch)
        self.positions |= new
        self.rows[partition] += len(batch)
        self.unplaced[partition] += len(batch)
        if new:
            # Rows without a source partition belong to the next position, whichever it is.
            self.unplaced[partition] = self.unplaced[""] = 0

    @property
    def is_placed(self) -> bool:
        return not self.unplaced.total()

    @property
    def size(self) -> int:
        return sum(self.rows.values())

    def offset(self) -> dict[str, Any]:
        """Return Spark's offset behind this batch. Spark leaves out a batch whose offset equals the one before it."""
        positions = {**self.start.get("positions", {}), **self.positions}
        return {"positions": positions, "rows": dict(self.rows), "batch": self.start.get("batch", 0) + 1}


class ConnectStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream, in the driver's Python as long as the query runs. Owned by one thread."""

    def __init__(self, options: FrameOptions, columns: StructType) -> None:
        self._options = options
        self._columns = columns
        self._task: OpenTask | None = None
        self._at: Offset | None = None
        self._ahead: deque[Batch] = deque()
        self._planned: tuple[Offset, _MicroBatch] | None = None
        self._ends = False
        self._is_over = False

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset of the connector's own beginning."""
        return {"positions": {}, "rows": {}}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of a batch, by `connect.batch.rows`."""
        return ReadMaxRows(self._options.batch_rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Let the query end once the source has nothing more."""
        self._ends = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """Read the next batch ahead, and return its end; return `start` if there is no batch."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if not isinstance(limit, ReadMaxRows | ReadAllAvailable):
            most = self._options.batch_rows
        if self._at != start:
            self._open(start)
        elif self._ends:
            # Spark has run what ends there. It commits that behind the next batch alone, and a source may not say that
            # there is none before its rows are kept.
            self.commit(start)
        made = self._read(start, most)
        if not made.size:
            return start
        end = made.offset()
        self._planned, self._at = (end, made), end
        return end

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the partitions of the batch that ends at `end`: read ahead, or read again after a restart."""
        if self._planned is None or self._planned[0] != end:
            self._planned = (end, self._read_again(start, end))
        schema = frame_schema(self._columns)
        rows = [frame_rows(batch, schema) for batch in self._planned[1].batches if len(batch)]
        return [InputPartition(part) for part in _parts(rows, schema)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the partition carries."""
        import pyarrow as pa

        with pa.ipc.open_stream(partition.value) as stream:
            yield from stream

    def commit(self, end: Offset) -> None:
        """Let the source prune the rows that Spark is done with."""
        if self._task is not None:
            self._task.stored(end["positions"])

    def stop(self) -> None:
        """Close the source task."""
        task, self._task, self._at = self._task, None, None
        if task is not None:
            task.close()

    def _open(self, at: Offset) -> OpenTask:
        self.stop()
        self._ahead.clear()
        options = self._options
        connector = options.build()
        (config, *_) = retried(lambda: connector.task_configs(1), options.timeout_s)
        self._task = OpenTask(connector, config, at.get("positions", {}), options.timeout_s)
        self._at = at
        return self._task

    def _read(self, start: Offset, most: int | None) -> _MicroBatch:
        """Read at most `most` rows, unless one page or unit, or the rows up to the next position, are more.

        Return fewer if there are no more now. ConnectError: rows have no position, and none comes.
        """
        made, deadline = _MicroBatch(start), Deadline.after(self._options.timeout_s)
        while self._ahead or not self._is_over:
            can_end = made.is_placed and not self._is_within_unit
            batch = self._next()
            if batch is None:
                if made.size and not made.is_placed:
                    self._require_time(made, deadline)
                elif made.size or not self._ends:
                    return made
                continue
            deadline = Deadline.after(self._options.timeout_s)
            if most is not None and made.size and can_end and made.size + len(batch) > most:
                self._ahead.appendleft(batch)
                return made
            made.add(batch)
        return made

    @property
    def _is_within_unit(self) -> bool:
        return self._task is not None and self._task.is_within_unit

    def _require_time(self, made: _MicroBatch, deadline: Deadline) -> None:
        if deadline.expired:
            raise ConnectError(
                f"The source gave {made.unplaced.total()} rows without a place to go on from behind them, and none "
                f"came within {self._options.timeout_s:.0f} s: after a crash nothing could give these rows again.",
                key="connect.timeout.s",
                fix="Follow the source by a key, an id or a timestamp; or read it once, by spark.read.",
            )

    def _next(self) -> Batch | None:
        if self._ahead:
            return self._ahead.popleft()
        assert self._task is not None
        batch = self._task.poll(_POLL_S)
        if self._ends and self._task.is_dry(batch) and not self._is_within_unit:
            self._is_over = True
        return batch

    def _read_again(self, start: Offset, end: Offset) -> _MicroBatch:
        made = _MicroBatch(start)
        left: Counter[str] = Counter(end["rows"])
        task, deadline = self._open(start), Deadline.after(self._options.timeout_s)
        while left.total():
            batch = task.poll()
            if batch is None:
                if deadline.expired:
                    _log.warning("%d rows that a batch had are no longer in the source.", left.total())
                    break
                continue
            deadline = Deadline.after(self._options.timeout_s)
            partition = _partition(batch)
            taken = min(len(batch), left[partition])
            made.add(batch if taken == len(batch) else batch.slice(0, taken))
            left[partition] -= taken
        # It stands behind more than this batch.
        self.stop()
        return made


def _partition(batch: Batch) -> str:
    return "" if batch.position is None else partition_key(batch.position.partition)


def _parts(rows: Sequence[pa.RecordBatch], schema: pa.Schema) -> Iterator[bytes]:
    """Cut rows into Arrow streams of about so many rows each."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for number, batch in enumerate(rows, 1):
        held.append(batch)
        if sum(map(len, held)) >= _PART_ROWS or number == len(rows):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, schema) as stream:
                for one in held:
                    stream.write_batch(one)
            yield sink.getvalue().to_pybytes()
            held = []
