"""Defines the internal record: a batch of rows of one topic and one schema, held as Arrow columns or as Python rows.

A batch converts between the two forms at most once and without loss; the hot path makes no Python object per row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from connect.api.arrow import connect_schema, with_times
from connect.api.arrow_rows import arrow_from_rows, rows_from_arrow
from connect.api.schema import Schema
from connect.api.state import StateEntries
from connect.api.time_types import TimePrecision

if TYPE_CHECKING:
    import pyarrow as pa


class TopicPartition(NamedTuple):
    """Identifies a partition of a Kafka topic."""

    topic: str
    partition: int


class Header(NamedTuple):
    """Holds a record header before conversion. If `schema` is None, the header converter infers the type."""

    key: str
    value: object
    schema: Schema | None = None


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """Identifies a place in an external system.

    Both maps hold JSON-like primitives only, as they are written to the offsets topic.

    `partition` names the stream, `offset` the place in it from which a restart resumes. `offset` is None if there is
    nothing to resume.
    """

    partition: Mapping[str, object]
    offset: Mapping[str, object] | None


class Column:
    """Holds the keys or the values of several rows of one schema, as an Arrow array or as Python values.

    The form that is not there is made once, on demand. `is_whole` is for a schemaless column whose Arrow form tells
    every row exactly, as no row lacks a field that others have. `schema` None means schemaless: rows are what JSON
    gives (dict, list, str, int, float, bool, None) and the Arrow form is inferred. A null is a tombstone (value) or an
    absent key. One task thread owns the column.
    """

    __slots__ = ("_arrow", "_length", "_make_arrow", "_make_json", "_make_rows", "_rows", "is_whole", "schema")

    def __init__(
        self,
        schema: Schema | None,
        length: int,
        *,
        arrow: Callable[[], pa.Array] | None = None,
        rows: Callable[[], Sequence[Any]] | None = None,
        json: Callable[[], pa.BinaryArray | None] | None = None,
        is_whole: bool = False,
    ) -> None:
        """Take a maker of the Arrow form, a maker of the rows, or both if the data can be decoded straight into either.

        `json` makes what `json_texts` returns.
        """
        if arrow is None and rows is None:
            raise ValueError("A Column needs a maker of its Arrow form or of its rows.")
        self.schema = schema
        self.is_whole = is_whole
        self._length = length
        self._make_arrow = arrow
        self._make_rows = rows
        self._make_json = json
        self._arrow: pa.Array | None = None
        self._rows: Sequence[Any] | None = None

    @classmethod
    def from_arrow(
        cls, array: pa.Array, schema: Schema | None = None, *, times: TimePrecision = TimePrecision.CONNECT
    ) -> Column:
        """Return a column over an Arrow array of `arrow_type(schema)`; the schema is derived from the array when left
        out. `times` says what dates and times become in a derived schema.
        """
        if schema is None and times is not TimePrecision.CONNECT:
            schema = connect_schema(array.type, times=times)
            array = with_times(array, schema)
        column = cls(schema or connect_schema(array.type), len(array), arrow=lambda: array)
        column._arrow = array
        return column

    @classmethod
    def whole(cls, array: pa.Array) -> Column:
        """Return a schemaless column over an Arrow array that tells every row exactly, see `is_whole` of the class."""
        column = cls(None, len(array), arrow=lambda: array, is_whole=True)
        column._arrow = array
        return column

    @classmethod
    def from_rows(cls, rows: Sequence[Any], schema: Schema | None) -> Column:
        """Return a column over Python values (see `connect.api.schema` for the form of each type)."""
        column = cls(schema, len(rows), rows=lambda: rows)
        column._rows = rows
        return column

    @classmethod
    def nulls(cls, length: int, schema: Schema | None = None) -> Column:
        """Return a column of nulls."""
        return cls.from_rows([None] * length, schema)

    def __len__(self) -> int:
        return self._length

    @property
    def is_arrow(self) -> bool:
        """Return True if the Arrow form is there, or can be made without going through rows."""
        return self._arrow is not None or self._make_arrow is not None

    def arrow(self) -> pa.Array:
        """Return the Arrow array. Raise SchemaError when a Python value does not fit the schema without loss."""
        if self._arrow is None:
            self._arrow = self._make_arrow() if self._make_arrow else arrow_from_rows(self.rows(), self.schema)
        return self._arrow

    def rows(self) -> Sequence[Any]:
        """Return the values in Python form, one per row."""
        if self._rows is None:
            self._rows = self._make_rows() if self._make_rows else rows_from_arrow(self.arrow())
        return self._rows

    def json_texts(self) -> pa.BinaryArray | None:
        """Return the JSON texts that the values were read from, one line each, null for a null row.

        Return None if the values did not come as JSON, or were changed since; use `arrow` or `rows` then.
        """
        return None if self._make_json is None else self._make_json()

    def take(self, indices: Sequence[int]) -> Column:
        """Return the rows at these indices, in that order; the form held now is kept."""
        if self._rows is None and self.is_arrow:
            import pyarrow as pa

            picked = pa.array(indices, pa.int64())
            array = self.arrow().take(picked)
            return self._part(array, lambda rows: [rows[i] for i in indices], lambda texts: texts.take(picked))
        rows = self.rows()
        return Column.from_rows([rows[i] for i in indices], self.schema)

    def slice(self, start: int, stop: int) -> Column:
        """Return the rows start..stop-1 without a copy of Arrow data."""
        if self._rows is None and self.is_arrow:
            array = self.arrow().slice(start, stop - start)
            return self._part(array, lambda rows: rows[start:stop], lambda texts: texts.slice(start, stop - start))
        return Column.from_rows(self.rows()[start:stop], self.schema)

    def _part(
        self,
        array: pa.Array,
        rows: Callable[[Sequence[Any]], Sequence[Any]],
        texts: Callable[[pa.BinaryArray], pa.BinaryArray],
    ) -> Column:
        """Return some of the rows with the same makers as the whole column has.

        So a field that a schemaless row lacks does not become a null, as it would if rows were made from the Arrow
        form.
        """

        def json() -> pa.BinaryArray | None:
            found = self.json_texts()
            return None if found is None else texts(found)

        part = Column(
            self.schema,
            len(array),
            arrow=lambda: array,
            rows=None if self._make_rows is None else lambda: rows(self.rows()),
            json=None if self._make_json is None else json,
            is_whole=self.is_whole,
        )
        part._arrow = array
        return part


@dataclass(frozen=True, slots=True)
class Record:
    """Holds one row, for plug-ins that work row by row. `offset` and `partition` are those of the record in Kafka, None
    on the source side.
    """

    topic: str
    key: Any = None
    value: Any = None
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    headers: Sequence[Header] = ()
    timestamp_ms: int | None = None
    partition: int | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Consumed:
    """Tells where in Kafka the rows of a sink batch were read. Transforms keep it even if they change the topic
    (KIP-793).

    `next_offset` is the offset after the last record read for this batch, also if that record's row was dropped on the
    way. One read may give several batches whose rows alternate in Kafka. These share one `next_offset`, and it may be
    committed only after the last of them. `topic_id` is Kafka's id of the topic, if the sink asked for it (`TopicIds`).
    `row_numbers` tells rows apart that transforms made of one record: partition, offset and number name one row, and
    the same one whenever the record is read again. A record of one row has 0, rows of others begin with 1. None: all
    have 0.
    """

    topic_partition: TopicPartition
    offsets: pa.Int64Array
    next_offset: int
    topic_id: str | None = None
    row_numbers: pa.Int64Array | None = None

    def take(self, picked: pa.Int64Array) -> Consumed:
        """Return where the rows at these indices were read; `next_offset` stays that of the whole batch."""
        numbers = self.row_numbers
        return replace(
            self, offsets=self.offsets.take(picked), row_numbers=None if numbers is None else numbers.take(picked)
        )

    def slice(self, start: int, stop: int) -> Consumed:
        """Return where the rows start..stop-1 were read; `next_offset` stays that of the whole batch."""
        offsets, numbers = self.offsets.slice(start, stop - start), self.row_numbers
        return replace(
            self, offsets=offsets, row_numbers=None if numbers is None else numbers.slice(start, stop - start)
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Holds rows of one topic and one schema, in order.

    `values` has one value per row; a null is a tombstone. `keys` is None when no row has a key, `headers` is None when
    no row has any. `timestamps_ms` is Arrow int64; a null means that the row has no timestamp. `partition` is the Kafka
    partition that a source batch is to go to (if None, the key decides), or that a sink batch was read from. A source
    batch carries `position`, from which a restart resumes *after* this batch, and `state`, what its task has to
    remember after it; a batch read from Kafka carries `consumed`. A batch may have no rows: it then only moves the
    position.
    """

    topic: str
    values: Column
    keys: Column | None = None
    headers: Sequence[Sequence[Header]] | None = None
    timestamps_ms: pa.Int64Array | None = None
    partition: int | None = None
    position: SourcePosition | None = None
    consumed: Consumed | None = None
    state: StateEntries | None = None

    def __post_init__(self) -> None:
        size = len(self.values)
        for name in ("keys", "headers", "timestamps_ms"):
            member = getattr(self, name)
            if member is not None and len(member) != size:
                raise ValueError(f"Batch for topic {self.topic}: {len(member)} {name} for {size} values.")
        if self.consumed is not None and len(self.consumed.offsets) != size:
            raise ValueError(f"Batch for topic {self.topic}: {len(self.consumed.offsets)} offsets for {size} values.")

    def __len__(self) -> int:
        return len(self.values)

    def arrow(self) -> pa.RecordBatch:
        """Return the values as a record batch: a struct's fields are its columns, any other type is one column `value`.

        A tombstone among structs becomes a row of nulls; ask `values.arrow().is_null()` where that matters.
        """
        import pyarrow as pa

        array = self.values.arrow()
        if not pa.types.is_struct(array.type):
            return pa.record_batch([array], names=["value"])
        return pa.RecordBatch.from_struct_array(array)

    def rows(self) -> list[Record]:
        """Return the batch row by row. This costs a Python object per row: for row-wise plug-ins only."""
        size = len(self)
        keys = self.keys.rows() if self.keys is not None else [None] * size
        key_schema = self.keys.schema if self.keys is not None else None
        headers = self.headers if self.headers is not None else [()] * size
        times = self.timestamps_ms.to_pylist() if self.timestamps_ms is not None else [None] * size
        offsets = self.consumed.offsets.to_pylist() if self.consumed is not None else [None] * size
        return [
            Record(self.topic, k, v, key_schema, self.values.schema, h, t, self.partition, o)
            for k, v, h, t, o in zip(keys, self.values.rows(), headers, times, offsets, strict=True)
        ]

    def take(self, indices: Sequence[int]) -> Batch:
        """Return the rows at these indices, ascending; positions and `next_offset` stay those of the whole batch."""
        import pyarrow as pa

        picked = pa.array(indices, pa.int64())
        return replace(
            self,
            values=self.values.take(indices),
            keys=self.keys.take(indices) if self.keys is not None else None,
            headers=[self.headers[i] for i in indices] if self.headers is not None else None,
            timestamps_ms=self.timestamps_ms.take(picked) if self.timestamps_ms is not None else None,
            consumed=self.consumed.take(picked) if self.consumed else None,
        )

    def slice(self, start: int, stop: int) -> Batch:
        """Return the rows start..stop-1 without a copy. If rows follow the part, its `next_offset` is the offset of the
        first of them.
        """
        length = stop - start
        consumed = self.consumed
        if consumed is not None:
            next_offset = consumed.offsets[stop].as_py() if stop < len(self) else consumed.next_offset
            consumed = replace(consumed.slice(start, stop), next_offset=next_offset)
        return replace(
            self,
            values=self.values.slice(start, stop),
            keys=self.keys.slice(start, stop) if self.keys is not None else None,
            headers=self.headers[start:stop] if self.headers is not None else None,
            timestamps_ms=self.timestamps_ms.slice(start, length) if self.timestamps_ms is not None else None,
            consumed=consumed,
        )

    def without(self, rows: Collection[int]) -> Batch:
        """Return all rows but these; the same batch when there are none."""
        gone = frozenset(rows)
        return self.take([i for i in range(len(self)) if i not in gone]) if gone else self


def batches_of(polled: Batch | Sequence[Batch] | None) -> Sequence[Batch]:
    """Return the batches that a source's `poll` returned, in order. Together they are one unit of delivery."""
    if polled is None:
        return ()
    return (polled,) if isinstance(polled, Batch) else polled
