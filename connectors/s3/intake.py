"""A batch made ready to be taken: encoded columns, paths, times and sizes of the rows to write, and the rows refused.

Changes nothing, so whatever it raises leaves the sink as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConnectError
from connect.api.records import Batch, Consumed
from connectors.s3.formats import Format, Prepared
from connectors.s3.partitioners import Partitioner
from connectors.s3.rotation import Facts
from connectors.s3.sizes import row_sizes
from connectors.s3.timestamps import TimestampExtractor

if TYPE_CHECKING:
    import pyarrow as pa

NO_TIME: Final = -1


@dataclass(frozen=True, slots=True)
class Admitted:
    """Rows to write, in the order of their offsets. bad: rows of the batch as it was put that are refused.

    timestamps_ms: Kafka's, int64 without nulls; NO_TIME where a record has none.
    """

    topic: str
    consumed: Consumed
    prepared: Prepared
    facts: Facts
    timestamps_ms: pa.Int64Array
    bad: Mapping[int, Exception]


@dataclass(frozen=True, slots=True)
class Intake:
    """The settings that decide what of a batch is written, and where. `rotation_times` None: times do not matter."""

    format: Format
    partitioner: Partitioner
    rotation_times: TimestampExtractor | None
    counts_bytes: bool
    ignores_nulls: bool

    def admit(self, batch: Batch) -> Admitted:
        """The rows of a sink batch that are written. SchemaError when the format cannot hold its values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        assert batch.consumed is not None
        prepared = self.format.prepare(batch)
        paths = self.partitioner.paths(batch)
        times = self.rotation_times.times(batch) if self.rotation_times is not None else None
        bad = {**(times.bad if times is not None else {}), **paths.bad}
        nulls = set() if prepared.valid is None else set(pc.indices_nonzero(pc.invert(prepared.valid)).to_pylist())
        bad = {row: error for row, error in sorted(bad.items()) if row not in nulls}
        kept = None
        if bad or nulls:
            kept = pa.array([row for row in range(len(batch)) if row not in bad and row not in nulls], pa.int64())
        if not self.ignores_nulls:
            bad |= {row: _null_error(batch) for row in nulls}
        rows = _take(prepared.rows, kept)
        facts = Facts(
            length=len(rows),
            names=paths.names,
            codes=_take(paths.codes, kept),
            epoch_ms=_take(times.epoch_ms, kept) if times is not None else None,
            sizes_end=_running_sum(rows) if self.counts_bytes else None,
        )
        consumed = Consumed(
            batch.consumed.topic_partition, _take(batch.consumed.offsets, kept), batch.consumed.next_offset
        )
        prepared = Prepared(rows, None, prepared.schema, is_inferred=prepared.is_inferred)
        return Admitted(batch.topic, consumed, prepared, facts, _take(_timestamps(batch), kept), bad)


def _timestamps(batch: Batch) -> pa.Int64Array:
    import pyarrow as pa

    if batch.timestamps_ms is None:
        return pa.repeat(pa.scalar(NO_TIME, pa.int64()), len(batch))
    return batch.timestamps_ms.fill_null(NO_TIME)


def _null_error(batch: Batch) -> ConnectError:
    return ConnectError(
        f"A record of topic {batch.topic} has a null value.",
        key="behavior.on.null.values",
        fix="Set behavior.on.null.values=ignore to leave such records out.",
    )


def _take(rows: Any, kept: pa.Array | None) -> Any:
    return rows if kept is None or rows is None else rows.take(kept)


def _running_sum(rows: pa.RecordBatch | pa.Array) -> memoryview[int]:
    import pyarrow.compute as pc

    sums = pc.cumulative_sum(row_sizes(rows))
    return memoryview(sums.buffers()[1]).cast("q")[sums.offset : sums.offset + len(sums)]
