"""Prepares a batch for the files: columns, paths, times and sizes of the rows to write, and the refused rows.

It changes no state, so that an error leaves the sink as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Consumed
from connect.api.schema import Schema
from connectors.s3.files.rotation import Facts, joined_facts
from connectors.s3.files.sizes import row_sizes
from connectors.s3.formats.file_format import Format, Prepared
from connectors.s3.formats.inferred import nullable
from connectors.s3.formats.shape import Shape
from connectors.s3.paths.layout import Layout, Place
from connectors.s3.paths.partitioners import Partitioner, Paths
from connectors.s3.paths.refused_field import located
from connectors.s3.paths.timestamps import TimestampExtractor

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

NO_TIME: Final = -1


@dataclass(frozen=True, slots=True)
class Admitted:
    """Holds rows to write, in the order of their offsets. One schema holds all of them.

    `timestamps_ms` are Kafka's timestamps as int64 without nulls; NO_TIME stands for a record without one.
    """

    topic: str
    consumed: Consumed
    prepared: Prepared
    facts: Facts
    timestamps_ms: pa.Int64Array

    def halves(self) -> tuple[Admitted, Admitted]:
        """Return the two halves of the rows, which have no schema. The inferred schema of each fits its rows alone."""
        middle = self.facts.length // 2
        return self._part(0, middle), self._part(middle, self.facts.length)

    def picked(self, rows: NDArray[np.int64]) -> Admitted:
        """Return the rows with these numbers, which ascend. If the schema was inferred, it fits these rows alone."""
        import pyarrow as pa

        places = pa.array(rows)
        consumed = self.consumed.take(places)
        prepared = replace(self.prepared, rows=self.prepared.rows.take(places))
        if prepared.is_inferred:
            prepared = prepared.narrowed(0, len(rows))
        return Admitted(self.topic, consumed, prepared, self.facts.picked(rows), self.timestamps_ms.take(places))

    def _part(self, start: int, stop: int) -> Admitted:
        consumed = self.consumed.slice(start, stop)
        prepared = self.prepared.narrowed(start, stop)
        times = self.timestamps_ms.slice(start, stop - start)
        return Admitted(self.topic, consumed, prepared, self.facts.part(start, stop), times)


def joined_rows(parts: Sequence[Admitted]) -> Admitted:
    """Return parts of one topic as one part, with all that rotation needs. It has only the rows of the first part."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    offsets = pa.concat_arrays([part.consumed.offsets for part in parts])
    consumed = Consumed(parts[0].consumed.topic_partition, offsets, parts[-1].consumed.next_offset)
    times = pa.concat_arrays([part.timestamps_ms for part in parts])
    return Admitted(parts[0].topic, consumed, parts[0].prepared, joined_facts([p.facts for p in parts]), times)


@dataclass(frozen=True, slots=True)
class Admission:
    """Holds the result for a batch: the parts to write, in the order of their offsets. There is at least one part.

    `bad` has the errors of refused rows by their numbers in the batch, ascending. `schema` is the one in which the
    values are written, if schema.compatibility needs to know it; else None.
    """

    parts: Sequence[Admitted]
    bad: Mapping[int, Exception]
    schema: Schema | None = None


@dataclass(slots=True)
class _Found:
    """Holds what is known so far of a batch that is being admitted; all its parts were polled together."""

    next_offset: int
    current: Schema | None
    parts: list[Admitted] = field(default_factory=list)
    bad: dict[int, Exception] = field(default_factory=dict)

    def refuse(self, first: int, rows: Mapping[int, Exception]) -> None:
        self.bad |= {first + row: error for row, error in rows.items()}


@dataclass(frozen=True, slots=True)
class Intake:
    """Decides by its settings which rows of a batch are written, and where.

    `rotation_times` tells the times of rows for rotation, or None if no rule asks for times.
    """

    format: Format
    partitioner: Partitioner
    layout: Layout
    rotation_times: TimestampExtractor | None
    counts_bytes: bool
    ignores_nulls: bool
    shape: Shape = field(default_factory=Shape)

    def admit(self, batch: Batch, current: Schema | None = None) -> Admission:
        """Return the rows of a sink batch that are written, and those that no file can hold.

        `current` is the schema in which values of this topic were written before. Rows without a schema may have types
        that do not fit together; such rows come in several parts. So a row is never refused because of other rows that
        were polled with it.
        """
        assert batch.consumed is not None
        found = _Found(batch.consumed.next_offset, current)
        if len(batch):
            self._admit(batch, 0, found)
        schema = self.shape.schema_behind(batch.values.schema, current) if found.parts else current
        return Admission(found.parts or [_no_rows(batch)], dict(sorted(found.bad.items())), schema)

    def _admit(self, batch: Batch, first: int, found: _Found) -> None:
        """Take a batch, and bisect it down to the rows that fail by themselves.

        `first` is where it begins in the batch that was put.
        """
        try:
            part, bad = self._admit_whole(batch, found)
        except RejectedRowsError as error:
            found.refuse(first, error.rows)
            for before, row in pairwise((-1, *sorted(error.rows), len(batch))):
                if row - before > 1:
                    self._admit(batch.slice(before + 1, row), first + before + 1, found)
        except SchemaError as error:
            if len(batch) == 1:
                found.refuse(first, {0: located(error, batch)})
                return
            middle = len(batch) // 2
            self._admit(batch.slice(0, middle), first, found)
            self._admit(batch.slice(middle, len(batch)), first + middle, found)
        else:
            found.refuse(first, bad)
            if part.facts.length:
                found.parts.append(part)

    def _admit_whole(self, batch: Batch, found: _Found) -> tuple[Admitted, Mapping[int, Exception]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        assert batch.consumed is not None
        prepared = self._prepared(self.shape.shaped(batch, found.current))
        paths = self.partitioner.paths(batch)
        times = self.rotation_times.times(batch) if self.rotation_times is not None else None
        bad = {**(times.bad if times is not None else {}), **paths.bad, **self._refused_keys(batch, paths)}
        nulls = set() if prepared.valid is None else set(pc.indices_nonzero(pc.invert(prepared.valid)).to_pylist())
        bad = {row: error for row, error in bad.items() if row not in nulls}
        kept = None
        if bad or nulls:
            kept = pa.array([row for row in range(len(batch)) if row not in bad and row not in nulls], pa.int64())
        if not self.ignores_nulls:
            bad |= {row: _null_error(batch) for row in nulls}
        rows = _take(prepared.rows, kept)
        names, codes = _used(paths, kept)
        facts = Facts(
            length=len(rows),
            names=names,
            codes=codes,
            epoch_ms=_take(times.epoch_ms, kept) if times is not None else None,
            sizes_end=_running_sum(rows) if self.counts_bytes else None,
        )
        consumed = Consumed(batch.consumed.topic_partition, _take(batch.consumed.offsets, kept), found.next_offset)
        prepared = replace(prepared, rows=rows, valid=None)
        return Admitted(batch.topic, consumed, prepared, facts, _take(_timestamps(batch), kept)), bad

    def _prepared(self, batch: Batch) -> Prepared:
        import pyarrow as pa

        prepared = self.format.prepare(batch)
        if len(prepared.rows) != len(batch):
            raise ConnectError(
                f"The format made {len(prepared.rows)} rows of {len(batch)} values of topic {batch.topic}.",
                fix="Report it: no row may be lost.",
            )
        if not self.shape.compatibility.widens or prepared.is_inferred or not isinstance(prepared.schema, pa.Schema):
            return prepared
        schema = pa.schema(nullable(pa.struct(list(prepared.schema))))
        return replace(prepared, rows=prepared.rows.cast(schema), schema=schema, widens=True)

    def _refused_keys(self, batch: Batch, paths: Paths) -> Mapping[int, Exception]:
        import pyarrow.compute as pc

        assert batch.consumed is not None
        consumed = batch.consumed
        bad: dict[int, Exception] = {}
        if self.layout.is_surely_taken(batch.topic, paths.names, consumed.topic_partition):
            return bad
        for code, path in enumerate(paths.names):
            error = self.layout.refusal(Place(batch.topic, path), consumed.topic_partition, consumed.next_offset)
            if error is not None:
                codes = paths.codes
                rows = range(len(batch)) if codes is None else pc.indices_nonzero(pc.equal(codes, code)).to_pylist()
                bad |= dict.fromkeys(rows, error)
        return bad


def _used(paths: Paths, kept: pa.Int64Array | None) -> tuple[Sequence[str], pa.Int32Array | None]:
    """Return the names and codes of paths without the names that these rows do not use: the store is asked for each."""
    if kept is None or paths.codes is None:
        return paths.names, paths.codes
    encoded = paths.codes.take(kept).dictionary_encode()
    return [paths.names[code] for code in encoded.dictionary.to_pylist()], encoded.indices


def _no_rows(batch: Batch) -> Admitted:
    """Return a part that moves the position and writes nothing."""
    import pyarrow as pa

    assert batch.consumed is not None
    none = pa.array([], pa.int64())
    consumed = Consumed(batch.consumed.topic_partition, none, batch.consumed.next_offset)
    return Admitted(batch.topic, consumed, Prepared(pa.nulls(0), None), Facts(0, ()), none)


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
