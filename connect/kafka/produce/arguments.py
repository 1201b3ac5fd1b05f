"""Makes the arguments of librdkafka's calls from Arrow columns: structures of eight-byte words, one behind the other.

Source: rd_kafka_message_t and rd_kafka_vu_t in rdkafka.h 2.16.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, Final

from connect.kafka.raw import RawBatch, RawHeaders, sent_times

if TYPE_CHECKING:
    import pyarrow as pa

    Column = array[int] | memoryview

COPY: Final = 0x2
"""librdkafka copies the rows of calls with this flag (RD_KAFKA_MSG_F_COPY)."""
STRUCTURE_BYTES: Final = 72
_WORDS: Final = 9
_WORD_BYTES: Final = 8
_TOPIC, _PARTITION, _VALUE, _KEY, _OPAQUE, _FLAGS, _TIMESTAMP, _HEADER = 2, 3, 4, 5, 6, 7, 8, 9
_OWN: Final = (_TOPIC, _PARTITION, _VALUE, _KEY, _FLAGS, _TIMESTAMP, _OPAQUE)
"""Each row has these arguments, and one more for each of its headers."""

_NOTHING: Final = ctypes.create_string_buffer(1)
"""An empty value points here, as a null pointer would make it a tombstone."""
_EMPTY: Final = ctypes.addressof(_NOTHING)


def messages_of(batch: RawBatch, opaque: int) -> bytearray:
    """Return one rd_kafka_message_t for each row of a readable batch.

    Its words are error, topic, partition, value, its length, key, its length, offset and opaque. The call writes an
    error into each row that it refuses.
    """
    messages = _Structures(len(batch), 1)
    value, size = _places(batch.values)
    messages.fill(0, {3: value, 4: size, 8: _words(opaque, len(batch))})
    if batch.keys is not None:
        messages.fill(0, dict(zip((5, 6), _places(batch.keys), strict=True)))
    return messages.array


def errors_of(messages: bytearray) -> list[int]:
    """Return the error of each message."""
    return memoryview(messages).cast("i")[:: STRUCTURE_BYTES // 4].tolist()


class RowArguments:
    """Holds the arguments of rd_kafka_produceva for each row: arrays of rd_kafka_vu_t, which are a kind and values."""

    def __init__(self, batch: RawBatch, topic: int, partition: int, opaque: int) -> None:
        """Take a readable batch, which has to live as long, and its topic's rd_kafka_topic_t."""
        numbers = (topic, partition, opaque)
        groups: dict[int, list[int]] = {}
        for row, headers in enumerate(batch.headers or ()):
            groups.setdefault(len(headers), []).append(row)
        if len(groups) < 2:
            self._groups = [_Alike(batch, next(iter(groups), 0), numbers)]
            self._all = list(self._groups[0])
            return
        self._groups = [_Alike(batch.take(rows), headers, numbers) for headers, rows in groups.items()]
        placed = {
            row: place
            for rows, group in zip(groups.values(), self._groups, strict=True)
            for row, place in zip(rows, group, strict=True)
        }
        self._all = [placed[row] for row in range(len(batch))]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Return the address and number of each row's arguments. They are valid while this object lives."""
        return iter(self._all)


class _Alike:
    """Holds the arguments of rows with equally many headers, so that the words of a kind are equally far apart."""

    def __init__(self, batch: RawBatch, headers: int, numbers: tuple[int, int, int]) -> None:
        self._batch, self._each = batch, len(_OWN) + headers
        self._made = _Structures(len(batch), self._each)
        for place, kind in enumerate(_OWN):
            self._made.fill(place, {0: _words(kind, len(batch))})
        topic, partition, opaque = (_words(number, len(batch)) for number in numbers)
        self._fill(_TOPIC, topic)
        self._fill(_PARTITION, partition)
        self._fill(_OPAQUE, opaque)
        self._fill(_FLAGS, _words(COPY, len(batch)))
        self._fill(_VALUE, *_places(batch.values))
        if batch.keys is not None:
            self._fill(_KEY, *_places(batch.keys))
        if batch.timestamps_ms is not None:
            self._fill(_TIMESTAMP, _view(sent_times(batch.timestamps_ms)))
        self._texts = self._fill_headers(headers, batch.headers) if headers and batch.headers is not None else None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        first, step = address_of(self._made.array), self._each * STRUCTURE_BYTES
        return zip(range(first, first + len(self._batch) * step, step), repeat(self._each), strict=False)

    def _fill(self, kind: int, *values: Column) -> None:
        self._made.fill(_OWN.index(kind), dict(enumerate(values, 1)))

    def _fill_headers(self, count: int, headers: Sequence[RawHeaders]) -> object:
        """Fill in the headers, which are few and Python objects anyway. Return what has to live as long."""
        flat = list(chain.from_iterable(headers))
        names = [name.encode() + b"\0" for name, _ in flat]
        values = [value if value is not None else b"" for _, value in flat]
        texts = b"".join(names), b"".join(values)
        name_at, value_at = (ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or _EMPTY for text in texts)
        name_starts = array("Q", list(accumulate(map(len, names), initial=name_at))[:-1])
        sizes = array("Q", list(map(len, values)))
        value_starts = accumulate(sizes, initial=value_at)
        given = array(
            "Q", [start if one is not None else 0 for start, (_, one) in zip(value_starts, flat, strict=False)]
        )
        for place in range(count):
            columns = (column[place::count] for column in (name_starts, given, sizes))
            kind = {0: _words(_HEADER, len(self._batch))}
            self._made.fill(len(_OWN) + place, kind | dict(enumerate(columns, 1)))
        return texts


class _Structures:
    """Holds rows of so many structures each, all zeros until their words are filled in."""

    def __init__(self, rows: int, each: int) -> None:
        self.array = bytearray(rows * each * STRUCTURE_BYTES)
        self._words = memoryview(self.array).cast("Q")
        self._step = each * _WORDS

    def fill(self, place: int, columns: Mapping[int, Column]) -> None:
        """Fill words of the structure at this place of each row; `columns` has them by their numbers."""
        for word, column in columns.items():
            self._words[place * _WORDS + word :: self._step] = memoryview(column)


def address_of(structures: bytearray) -> int:
    """Return the address of a bytearray, which is valid while the bytearray lives and is not resized."""
    return ctypes.addressof((ctypes.c_char * len(structures)).from_buffer(structures))


def readable(batch: RawBatch) -> RawBatch:
    """Return a batch whose values and keys are bytes or text, as librdkafka reads their buffers. It has to live as long
    as their addresses are used.
    """
    keys = None if batch.keys is None else _byte_strings(batch.keys)
    return replace(batch, values=_byte_strings(batch.values), keys=keys)


def _byte_strings(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    kind = values.type
    if _is_wide(kind) or pa.types.is_binary(kind) or pa.types.is_string(kind):
        return values
    return values.cast(pa.large_binary())


def _words(number: int, count: int) -> array[int]:
    """Return a column of one number, which may be negative."""
    return array("Q", [number % 2**64]) * count


def _view(numbers: pa.Array) -> memoryview:
    """Return numbers of eight bytes as words."""
    first, size = numbers.offset * _WORD_BYTES, len(numbers) * _WORD_BYTES
    return memoryview(numbers.buffers()[1])[first : first + size].cast("Q")


def _places(values: pa.Array) -> tuple[memoryview, memoryview]:
    """Return the address and length of each value; address 0 where it is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _, offsets_buffer, data = values.buffers()
    kind = pa.int64() if _is_wide(values.type) else pa.int32()
    bounds = pa.Array.from_buffers(kind, len(values) + 1, [None, offsets_buffer], offset=values.offset).cast(
        pa.uint64()
    )
    base = data.address if data is not None and data.address else _EMPTY
    addresses = pc.add(bounds[:-1], pa.scalar(base, pa.uint64()))
    lengths = pc.subtract(bounds[1:], bounds[:-1])
    if values.null_count:
        nothing = pa.scalar(0, pa.uint64())
        addresses = pc.if_else(values.is_valid(), addresses, nothing)
        lengths = pc.if_else(values.is_valid(), lengths, nothing)
    return _view(addresses), _view(lengths)


def _is_wide(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_binary(kind) or pa.types.is_large_string(kind))
