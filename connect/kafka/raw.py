"""Holds records as Kafka has them: columns of bytes of one topic, without schemas and conversion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Final, overload

if TYPE_CHECKING:
    import pyarrow as pa

TIME_OF_SENDING: Final = 0
"""librdkafka takes this for "no timestamp", in all of its calls."""
RawHeaders = Sequence[tuple[str, bytes | None]]
"""Holds the headers of one record, in order. A key may come more than once."""


@dataclass(frozen=True, slots=True)
class SharedHeaders(Sequence[RawHeaders]):
    """Holds the headers of records that all have the same ones, so that they are sent without an object per record."""

    headers: RawHeaders
    records: int

    def __len__(self) -> int:
        return self.records

    def __iter__(self) -> Iterator[RawHeaders]:
        return repeat(self.headers, self.records)

    @overload
    def __getitem__(self, index: int) -> RawHeaders: ...
    @overload
    def __getitem__(self, index: slice) -> SharedHeaders: ...
    def __getitem__(self, index: int | slice) -> RawHeaders | SharedHeaders:
        if isinstance(index, slice):
            return SharedHeaders(self.headers, len(range(self.records)[index]))
        range(self.records)[index]  # raises IndexError if there is no such record
        return self.headers


@dataclass(frozen=True, slots=True)
class RawBatch:
    """Holds records of one topic, in order.

    A null in `values` is a tombstone. `keys` is None if no record has a key. `headers` has one sequence per record,
    and is None if no record has headers. A null in `timestamps_ms` stands for the time of sending. `partition` is the
    one to write to (None: by key), or the one that was read. Only read records have `offsets`, with `next_offset`
    behind them; offsets may have gaps from compaction and transaction markers.
    """

    topic: str
    values: pa.BinaryArray
    keys: pa.BinaryArray | None = None
    headers: Sequence[RawHeaders] | None = None
    timestamps_ms: pa.Int64Array | None = None
    partition: int | None = None
    offsets: pa.Int64Array | None = None
    next_offset: int | None = None

    def __post_init__(self) -> None:
        size = len(self.values)
        for name in ("keys", "headers", "timestamps_ms", "offsets"):
            member = getattr(self, name)
            if member is not None and len(member) != size:
                raise ValueError(f"RawBatch for topic {self.topic}: {len(member)} {name} for {size} values.")

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size_bytes(self) -> int:
        """Return the bytes of all keys and values of these rows, not of the buffers behind them, without headers."""
        keys = 0 if self.keys is None else _size_bytes(self.keys)
        return keys + _size_bytes(self.values)

    def take(self, indices: Sequence[int]) -> RawBatch:
        """Return the rows at these indices, in that order; `next_offset` stays that of the whole batch."""
        import pyarrow as pa

        picked = pa.array(indices, pa.int64())
        return replace(
            self,
            values=self.values.take(picked),
            keys=None if self.keys is None else self.keys.take(picked),
            headers=None if self.headers is None else [self.headers[i] for i in indices],
            timestamps_ms=None if self.timestamps_ms is None else self.timestamps_ms.take(picked),
            offsets=None if self.offsets is None else self.offsets.take(picked),
        )

    def slice(self, start: int, stop: int) -> RawBatch:
        """Return rows start..stop-1 without a copy of Arrow data; `next_offset` stays that of the whole batch."""
        length = max(0, min(stop, len(self)) - start)
        return replace(
            self,
            values=self.values.slice(start, length),
            keys=None if self.keys is None else self.keys.slice(start, length),
            headers=None if self.headers is None else self.headers[start:stop],
            timestamps_ms=None if self.timestamps_ms is None else self.timestamps_ms.slice(start, length),
            offsets=None if self.offsets is None else self.offsets.slice(start, length),
        )


def _size_bytes(array: pa.BinaryArray) -> int:
    import pyarrow.compute as pc

    return pc.sum(pc.binary_length(array)).as_py() or 0


def sent_time(timestamp_ms: int | None) -> int:
    """Return a timestamp for librdkafka; 0, which it cannot write as a time, becomes 1."""
    return TIME_OF_SENDING if timestamp_ms is None else timestamp_ms or 1


def sent_times(timestamps_ms: pa.Int64Array) -> pa.Int64Array:
    """Return `sent_time` of each value of a column; the result has no nulls."""
    import pyarrow.compute as pc

    return pc.fill_null(pc.if_else(pc.equal(timestamps_ms, 0), 1, timestamps_ms), TIME_OF_SENDING)
