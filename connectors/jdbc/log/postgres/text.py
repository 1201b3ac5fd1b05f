"""Turns PostgreSQL's texts of values into what an Arrow driver gives (`RowFormat.of_driver_arrays`). Pure.

The sessions that make the text run in UTC with DateStyle ISO, bytea_output hex and lc_monetary C.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connectors.jdbc.values.temporal import NO_DATE_DAYS, NO_TIMESTAMP_US, Misfit
from connectors.jdbc.values.types import ColumnPlan, Projection, Raw
from connectors.jdbc.values.zone_columns import DAY_US

SESSION = {
    "client_encoding": "UTF8",
    "options": "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c extra_float_digits=3 "
    "-c bytea_output=hex -c lc_monetary=C -c statement_timeout=0 -c lock_timeout=0 "
    "-c idle_in_transaction_session_timeout=0",
}
_MOMENT = re.compile(
    r"(\d+)-(\d\d)-(\d\d)(?: (\d\d:\d\d:\d\d(?:\.\d+)?))?(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?( BC)?"
)
_DAY_ONE = "1970-01-01"
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


def driver_array(plan: ColumnPlan, values: pa.BinaryArray) -> pa.Array:
    """Return a column as Arrow. Misfit or ArrowException: a text is no value of the type."""
    match plan.raw:
        case Raw.BYTES:
            return unhexed(values)
        case Raw.BOOLEAN:
            return _booleans(values)
        case Raw.FLOAT | Raw.INTEGER:
            return values.view(pa.string()).cast(arrow_type(plan.schema))
        case Raw.DECIMAL if plan.projection is Projection.NUMBER:
            return pc.replace_substring_regex(values.view(pa.string()), r"[$,]", "")
        case Raw.DECIMAL:
            return values.view(pa.string())
        case Raw.DATE:
            return _parsed(values, pa.date32(), _days)
        case Raw.WALL_CLOCK:
            return _parsed(values, pa.timestamp("us"), _fitting_micros)
        case Raw.INSTANT:
            return _parsed(values, pa.timestamp("us", "UTC"), _fitting_micros)
        case Raw.TIME:
            return _times(values)
    return values.cast(pa.string())


def stand_in(plan: ColumnPlan, text: str) -> bytes | None:
    """Return the text that stands for a value that is not known: a placeholder, or None if the type can hold none."""
    if plan.raw is Raw.TEXT:
        return text.encode()
    if plan.raw is Raw.BYTES:
        return b"\\x" + text.encode().hex().encode()
    return text.encode() if plan.raw is Raw.DECIMAL and plan.schema.type is s.Type.STRING else None


def zero(plan: ColumnPlan) -> bytes:
    """Return the text of the zero of the column's type."""
    return {
        Raw.TEXT: b"", Raw.BYTES: b"\\x", Raw.BOOLEAN: b"f", Raw.DATE: b"1970-01-01", Raw.TIME: b"00:00:00",
        Raw.WALL_CLOCK: b"1970-01-01 00:00:00", Raw.INSTANT: b"1970-01-01 00:00:00+00",
    }.get(plan.raw, b"0")  # fmt: skip


def _booleans(values: pa.BinaryArray) -> pa.Array:
    """Read booleans: `t`, `true` and `1` are true."""
    if values.null_count == len(values):
        return pa.nulls(len(values), pa.bool_())
    _, offsets, data = values.buffers()
    octets = np.frombuffer(data, np.uint8)
    # A null behind the last value begins at the end of the buffer, where there is no byte.
    first = np.minimum(np.frombuffer(offsets, np.int32, len(values), 4 * values.offset), len(octets) - 1)
    true = (octets[first] == ord("t")) | (octets[first] == ord("1"))
    return pa.array(true, mask=values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None)


def unhexed(values: pa.BinaryArray) -> pa.BinaryArray:
    r"""Return the bytes of bytea's hex form, which has `\x` in front."""
    count = len(values)
    if values.offset:
        values = pa.concat_arrays([values, values.slice(0, 0)])
    validity, offsets_buffer, data = values.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, count + 1)
    content = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    sizes = np.diff(offsets)
    filled = offsets[:-1][sizes > 0] - offsets[0]
    if (content[filled] != ord("\\")).any() or (content[filled + 1] != ord("x")).any():
        raise Misfit("it is not in bytea's hex form")
    kept = np.ones(len(content), bool)
    kept[filled] = kept[filled + 1] = False
    digits = _NIBBLES[content[kept]]
    if (digits > 15).any():
        raise Misfit("it is not in bytea's hex form")
    made = digits[0::2] << 4 | digits[1::2]
    ends = np.zeros(count + 1, np.int32)
    np.cumsum(np.maximum(sizes - 2, 0) // 2, out=ends[1:])
    return pa.BinaryArray.from_buffers(pa.binary(), count, [validity, pa.py_buffer(ends), pa.py_buffer(made)])


def _nibbles() -> np.ndarray:
    table = np.full(256, 255, np.uint8)
    for digit in range(16):
        for letter in f"{digit:x}{digit:X}":
            table[ord(letter)] = digit
    return table


_NIBBLES = _nibbles()


def _times(values: pa.BinaryArray) -> pa.Array:
    moments = pc.binary_join_element_wise(_DAY_ONE, values.cast(pa.string()), " ")
    try:
        micros = moments.cast(pa.timestamp("us")).cast(pa.int64())
    except pa.ArrowInvalid:
        # This is 24:00:00, which Arrow does not read.
        micros = pa.array([None if v is None else _clock(v.decode()) for v in values.to_pylist()], pa.int64())
    return micros.cast(pa.time64("us"))


def _parsed(values: pa.BinaryArray, target: pa.DataType, odd: Callable[[str], int]) -> pa.Array:
    text = values.view(pa.string())
    try:
        return text.cast(target)
    except pa.ArrowInvalid:
        # Infinity, years before 1 or after 9999, and 24:00 are rare, so such a column is read value by value.
        number = pa.int32() if pa.types.is_date32(target) else pa.int64()
        return pa.array([None if t is None else odd(t) for t in text.to_pylist()], number).cast(target)


@lru_cache(4096)
def _days(text: str) -> int:
    micros = _micros(text)
    return NO_DATE_DAYS if micros == NO_TIMESTAMP_US else micros // DAY_US


def _fitting_micros(text: str) -> int:
    micros = _micros(text)
    if micros >= 1 << 63:
        raise Misfit("it is after the year 294246, where microseconds since 1970 have no room in 64 bits")
    return micros


def _micros(text: str) -> int:
    if text in {"infinity", "-infinity"}:
        return NO_TIMESTAMP_US
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise Misfit("it is not a date in ISO form")
    year = 1 - int(found[1]) if found[9] else int(found[1])
    day = _days_from_civil(year, int(found[2]), int(found[3]))
    zone_s = (int(found[6]) * 3600 + int(found[7] or 0) * 60 + int(found[8] or 0)) if found[5] else 0
    micros = day * DAY_US + (_clock(found[4]) if found[4] else 0)
    return micros - zone_s * 1_000_000 * (-1 if found[5] == "-" else 1)


def _clock(text: str) -> int:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise Misfit("it is not a time in ISO form")
    seconds = int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3])
    return seconds * 1_000_000 + int((found[4] or "").ljust(6, "0"))


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of the proleptic Gregorian calendar, for any year (0 is 1 BC)."""
    text = f"{year:05d}" if year < 0 else f"{year:04d}"
    return int(np.datetime64(f"{text}-{month:02d}-{day:02d}", "D").astype(np.int64))
