"""Reads a source for `spark.read.format("connect")`: by splits side by side, or by its tasks until they are dry."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from connect.api.errors import ConnectError, RetriableError
from connect.api.optional.bulk import BulkSource, Split, SplitSize
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.spark.columns import frame_rows, frame_schema, frame_type
from connect.spark.options import FrameOptions
from connect.spark.source_task import OpenTask, retried

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_SPLIT_BYTES = 256 * 2**20


class ConnectReader(DataSourceReader):
    """Reads a source. The driver's Python plans it, and gives each task one partition. Picklable."""

    def __init__(self, options: FrameOptions, columns: StructType) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition for each split if the source can be cut, else one for each task (`tasks.max`)."""
        return [InputPartition(part) for part in parts_of(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of one partition."""
        schema = frame_schema(self._columns)
        for batch in part_batches(self._options, partition.value):
            if len(batch):
                yield frame_rows(batch, schema)


def parts_of(options: FrameOptions) -> list[Any]:
    """Return the parts of a source, each of which one Spark task reads: splits, or configurations of source tasks.

    The list is never empty.
    """
    connector = options.build()
    if isinstance(connector, BulkSource):
        size = SplitSize(options.split_rows, _SPLIT_BYTES)
        try:
            plan = connector.plan_bulk(size, Deadline.after(options.timeout_s))
        except RetriableError:
            raise
        except ConnectError:
            # It has no place to follow from, as mode=bulk; a frame that is read once needs none.
            pass
        else:
            return list(plan.splits) or [None]
    return list(
        retried(lambda: connector.task_configs(int(options.connector.get("tasks.max", "1"))), options.timeout_s)
    )


def part_batches(options: FrameOptions, part: Any) -> Generator[Batch, None, None]:
    """Read the batches of a part. ConnectError: the source cannot be read."""
    connector = options.build()
    if part is None:
        return
    if isinstance(part, Split):
        assert isinstance(connector, BulkSource)
        with closing(connector.bulk_reader()) as reader:
            yield from _split_batches(reader, part, options.timeout_s)
        return
    with OpenTask(connector, part, {}, options.timeout_s) as task:
        yield from task.batches()


def _split_batches(reader: Any, split: Split, timeout_s: float) -> Iterator[Batch]:
    """Read a split from its beginning; if the source was away, go on behind the last batch.

    RetriableError: the source is away for longer than `timeout_s`, or reading cannot go on behind the last batch. Spark
    then reads the partition as a whole again, and forgets what this attempt gave.
    """
    after, is_placed = None, True
    deadline = Deadline.after(timeout_s)
    while True:
        try:
            for batch in reader.read(split, after):
                yield batch
                offset = None if batch.position is None else batch.position.offset
                is_placed = offset is not None or (is_placed and not len(batch))
                after = after if offset is None else offset
                deadline = Deadline.after(timeout_s)
        except RetriableError:
            if not is_placed or not deadline.wait(0.5):
                raise
        else:
            return


def sampled_type(options: FrameOptions) -> StructType:
    """Return the columns of the first rows that the source gives. ConnectError: it has no rows."""
    for part in parts_of(options):
        batches = part_batches(options, part)
        try:
            for batch in batches:
                if len(batch):
                    return frame_type(batch.values.arrow().type)
        finally:
            batches.close()
    raise ConnectError(
        "The source has no row that could tell the columns of the frame.",
        key="schema",
        fix="Name them: spark.read.schema('id long, name string').format('connect')…",
    )
