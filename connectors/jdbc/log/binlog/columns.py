"""Decodes whole columns of a binary log by NumPy, to what `RowFormat.of_driver_arrays` takes. Pure.

It knows the usual pairs of a type in the log and a type in the catalog. Any other pair, as after ALTER TABLE, is read
value by value as text, by `values`, which also decides what each value is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from connectors.jdbc.dialects.mysql.arrow import text_column
from connectors.jdbc.log.binlog.row_layout import Places, numbers
from connectors.jdbc.log.binlog.values import ENUM, SET, STRING, LoggedColumn, Read, digit_groups, fraction_bytes
from connectors.jdbc.values.byte_fields import PADDING, Fields
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.temporal import NO_DATE_DAYS, NO_TIMESTAMP_US, Misfit
from connectors.jdbc.values.types import ColumnPlan, Raw
from connectors.jdbc.values.zone_columns import DAY_US

Mask = npt.NDArray[np.bool_]
Decode = Callable[[Fields], pa.Array]
_INTEGERS = {1: 1, 2: 2, 9: 3, 3: 4, 8: 8}
_FIRST_DAY = 1 << 5 | 1
_LIMB = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_HEX = np.frombuffer("".join(f"{octet:02x}" for octet in range(256)).encode(), np.uint8).reshape(256, 2)
_HYPHENS = (8, 12, 16, 20)


def driver_columns(form: RowFormat, decoders: Sequence[Decode], fields: Sequence[Fields]) -> list[pa.Array]:
    """Return the Arrow columns of rows. Raise SchemaError, which names the column, when a value does not fit."""
    columns = zip(form.columns, decoders, fields, strict=True)
    return [driver_column(form, plan, decode, field) for plan, decode, field in columns]


def driver_column(form: RowFormat, plan: ColumnPlan, decode: Decode, fields: Fields) -> pa.Array:
    """Return the Arrow array of one column of rows."""
    return form.guarded(plan, fields, partial(_decode, decode))


def _decode(decode: Decode, _plan: ColumnPlan, fields: Fields) -> pa.Array:
    return decode(fields)


def decoder(kind: int, meta: bytes, column: LoggedColumn, plan: ColumnPlan, read: Read) -> Decode:
    """Return the function that decodes a column. `read` gives the text of one value, see `values.reader`."""
    return _fast(kind, meta, column, plan) or (lambda fields: text_column(plan, _texts(fields, read)))


def _fast(kind: int, meta: bytes, column: LoggedColumn, plan: ColumnPlan) -> Decode | None:
    match plan.raw:
        case Raw.INTEGER | Raw.BOOLEAN:
            return _whole(kind, column)
        case Raw.DECIMAL if kind == 8 and column.unsigned:
            return lambda fields: _integers(fields, 8, unsigned=True).cast(pa.string())
        case Raw.DECIMAL if kind == 246:
            return lambda fields: _decimals(fields, meta[0], meta[1])
        case Raw.FLOAT if kind in {4, 5}:
            return lambda fields: _floats(fields, "<f4" if kind == 4 else "<f8")
        case Raw.TEXT | Raw.BYTES if kind in {15, 252, 253, STRING}:
            return _strings(kind, meta, column, plan.raw)
    return _moments(kind, meta, plan.raw)


def _whole(kind: int, column: LoggedColumn) -> Decode | None:
    if kind == 13:
        return _years
    if kind == 16 and column.bits_as_number:
        return lambda fields: _made(fields, numbers(fields.buffer, 1, fields.at), pa.int64())
    if kind in _INTEGERS:
        return lambda fields: _integers(fields, _INTEGERS[kind], unsigned=column.unsigned)
    return None


def _moments(kind: int, meta: bytes, raw: Raw) -> Decode | None:
    match raw:
        case Raw.DATE if kind in {10, 14}:
            return _dates
        case Raw.TIME if kind == 19:
            return lambda fields: _times(fields, meta[0])
        case Raw.WALL_CLOCK if kind == 18:
            return lambda fields: _wall_clocks(fields, meta[0])
        case Raw.INSTANT if kind == 17:
            return lambda fields: _instants(fields, meta[0])
    return None


def _strings(kind: int, meta: bytes, column: LoggedColumn, raw: Raw) -> Decode | None:
    if column.pad_bytes:
        return _padded_form(column, raw)
    if kind == STRING and meta[0] in {ENUM, SET}:
        return (lambda fields: _enums(fields, column.members)) if meta[0] == ENUM and raw is Raw.TEXT else None
    decode = column.decode
    if raw is Raw.BYTES:
        return Fields.binary if decode is None else None
    return Fields.text if decode is None else lambda fields: _decoded(fields, decode)


def _padded_form(column: LoggedColumn, raw: Raw) -> Decode | None:
    if column.kind == "uuid" and raw is Raw.TEXT:
        return _uuids
    return (lambda fields: _padded(fields, column.pad_bytes)) if raw is Raw.BYTES else None


def _texts(fields: Fields, read: Read) -> Fields:
    """Return the fields as a query's text would have them."""
    view = memoryview(fields.buffer)
    found = [
        None if size < 0 else read(bytes(view[at : at + size]))
        for at, size in zip(fields.at.tolist(), fields.size.tolist(), strict=True)
    ]
    sizes = np.array([-1 if text is None else len(text) for text in found], np.int64)
    ends = np.cumsum(np.maximum(sizes, 0))
    buffer = bytearray(b"".join(text for text in found if text is not None)) + bytes(PADDING)
    return Fields(buffer, ends - np.maximum(sizes, 0), sizes)


def _valid(fields: Fields) -> Any:
    nulls = fields.size < 0
    return pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None


def _made(fields: Fields, values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(fields.at), [_valid(fields), pa.py_buffer(np.ascontiguousarray(values))])


def _integers(fields: Fields, octets: int, *, unsigned: bool) -> pa.Array:
    if octets == 8:
        width = "<u8" if unsigned else "<i8"
        view = np.ndarray((len(fields.buffer) - 7,), width, fields.buffer, strides=(1,))
        return _made(fields, view[fields.at], pa.uint64() if unsigned else pa.int64())
    found = numbers(fields.buffer, octets, fields.at)
    if not unsigned:
        spare = 64 - 8 * octets
        found = found << spare >> spare
    return _made(fields, found, pa.int64())


def _years(fields: Fields) -> pa.Array:
    found = numbers(fields.buffer, 1, fields.at)
    return _made(fields, np.where(found > 0, found + 1900, 0), pa.int64())


def _floats(fields: Fields, form: str) -> pa.Array:
    width = np.dtype(form).itemsize
    view = np.ndarray((len(fields.buffer) - width + 1,), form, fields.buffer, strides=(1,))
    return _made(fields, view[fields.at].astype(np.float64), pa.float64())


def _decimals(fields: Fields, precision: int, scale: int) -> pa.Array:
    """Return decimals. They are stored in groups of nine digits, the highest first; the first bit is flipped,
    and in negative numbers every bit is.
    """
    limbs = 4 if precision <= 38 else 8
    found = [np.zeros(len(fields.at), np.uint64) for _ in range(limbs)]
    negative = numbers(fields.buffer, 1, fields.at) < 0x80
    at = fields.at
    for place, (digits, octets) in enumerate(digit_groups(precision, scale)):
        group = numbers(fields.buffer, octets, at, order=">")
        ones = (1 << 8 * octets) - 1
        if place == 0:
            group = group ^ (1 << 8 * octets - 1)
        group = np.where(negative, group ^ ones, group)
        carry = group.astype(np.uint64)
        factor = np.uint64(10**digits)
        for i, limb in enumerate(found):
            total = limb * factor + carry
            found[i], carry = total & _LIMB, total >> _SHIFT
        at = at + octets
    borrow = negative.astype(np.uint64)
    for i, limb in enumerate(found):
        total = np.where(negative, limb ^ _LIMB, limb) + borrow
        found[i], borrow = total & _LIMB, total >> _SHIFT
    words = np.stack([low | high << _SHIFT for low, high in zip(found[0::2], found[1::2], strict=True)], axis=1)
    kind = pa.decimal128(precision, scale) if limbs == 4 else pa.decimal256(precision, scale)
    return _made(fields, words, kind)


def _days(year: Places, month: Places, day: Places) -> tuple[Places, Mask]:
    """Return the days since 1970, and which rows hold a zero date. Misfit: a day that its month does not have."""
    none = (month == 0) | (day == 0)
    first = ((year - 1970) * 12 + np.maximum(month, 1) - 1).astype("datetime64[M]")
    days = first.astype("datetime64[D]").astype(np.int64)
    length = (first + 1).astype("datetime64[D]").astype(np.int64) - days
    if (month > 12).any() or (day > length).any():
        raise Misfit("its month does not have that day")
    return days + day - 1, none


def _dates(fields: Fields) -> pa.Array:
    packed = np.where(fields.size < 0, _FIRST_DAY, numbers(fields.buffer, 3, fields.at))
    days, none = _days(packed >> 9, packed >> 5 & 15, packed & 31)
    return _made(fields, np.where(none, NO_DATE_DAYS, days).astype(np.int32), pa.date32())


def _micros(fields: Fields, offset: int, digits: int) -> Places | int:
    octets = fraction_bytes(digits)
    if not octets:
        return 0
    found: Places = numbers(fields.buffer, octets, fields.at + offset, order=">") * 10 ** (6 - 2 * octets)
    return found


def _instants(fields: Fields, digits: int) -> pa.Array:
    seconds = numbers(fields.buffer, 4, fields.at, order=">")
    moments = seconds * 1_000_000 + _micros(fields, 4, digits)
    return _made(fields, np.where(seconds == 0, NO_TIMESTAMP_US, moments), pa.timestamp("us", "UTC"))


def _wall_clocks(fields: Fields, digits: int) -> pa.Array:
    stored = numbers(fields.buffer, 5, fields.at, order=">") - 0x8000000000
    packed = np.where(fields.size < 0, _FIRST_DAY << 17, stored)
    date, clock = packed >> 17, packed & 0x1FFFF
    month = date >> 5
    days, none = _days(month // 13, month % 13, date & 31)
    seconds = (clock >> 12) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)
    moments = days * DAY_US + seconds * 1_000_000 + _micros(fields, 5, digits)
    return _made(fields, np.where(none, NO_TIMESTAMP_US, moments), pa.timestamp("us"))


def _times(fields: Fields, digits: int) -> pa.Array:
    octets = fraction_bytes(digits)
    bits = 8 * octets
    packed = numbers(fields.buffer, 3 + octets, fields.at, order=">") - (0x800000 << bits)
    size = np.abs(packed)
    clock, fraction = size >> bits, (size & ((1 << bits) - 1)) * 10 ** (6 - 2 * octets)
    seconds = (clock >> 12 & 0x3FF) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)
    micros = np.where(packed < 0, -1, 1) * (seconds * 1_000_000 + fraction)
    micros = np.where(fields.size < 0, 0, micros)
    if ((micros < 0) | (micros >= DAY_US)).any():
        raise Misfit("it is not a time of day from 00:00:00 to before 24:00:00")
    return _made(fields, micros, pa.time64("us"))


def _enums(fields: Fields, members: Sequence[str]) -> pa.Array:
    octets = int(fields.size.max(initial=1))
    at = pa.array(numbers(fields.buffer, max(octets, 1), fields.at), mask=fields.size < 0)
    return pa.array(["", *members], pa.string()).take(at)


def _decoded(fields: Fields, decode: Callable[[bytes], str]) -> pa.Array:
    """Decode text of another character set than UTF-8, each distinct value once."""
    values = fields.binary().dictionary_encode()
    return pa.array([decode(value) for value in values.dictionary.to_pylist()], pa.string()).take(values.indices)


def _padded_bytes(fields: Fields, size: int) -> npt.NDArray[np.uint8]:
    """Return values with the zero bytes at their ends that the log leaves out."""
    place = np.arange(size)
    at = np.minimum(fields.at[:, None] + place, len(fields.buffer) - 1)
    found: npt.NDArray[np.uint8] = np.where(place < fields.size[:, None], np.frombuffer(fields.buffer, np.uint8)[at], 0)
    return found


def _of_size(fields: Fields, values: npt.NDArray[np.uint8], kind: pa.DataType) -> pa.Array:
    ends = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.Array.from_buffers(
        kind, len(values), [_valid(fields), pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(values))]
    )


def _padded(fields: Fields, size: int) -> pa.Array:
    return _of_size(fields, _padded_bytes(fields, size), pa.binary())


def _uuids(fields: Fields) -> pa.Array:
    digits = _HEX[_padded_bytes(fields, 16)].reshape(-1, 32)
    return _of_size(fields, np.insert(digits, _HYPHENS, ord("-"), axis=1), pa.string())
