"""Converts columns of records to texts that a database reads into its own types. Pure; never value by value.

The database knows its types best: it refuses a text that does not fit, and only the text's row is bad.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow_rows import rows_from_arrow
from connect.api.errors import SchemaError
from connect.api.time_types import NAMESPACE, TIME_TYPES
from connect.lib.javatext.numbers import shortest_float32
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.temporal import Misfit, timestamps
from connectors.jdbc.values.types import Raw
from connectors.jdbc.values.zone_columns import DAY_US

_UTC: Final = zone("UTC")
_MOMENTS: Final = frozenset({Raw.DATE, Raw.TIME, Raw.WALL_CLOCK, Raw.INSTANT})
_US_PER: Final = {"Date": DAY_US, "Time": 1000, "MicroTime": 1, "Timestamp": 1000, "MicroTimestamp": 1}
_NANOS: Final = frozenset({"NanoTime", "NanoTimestamp"})
_DATES: Final = frozenset({s.DATE, TIME_TYPES["Date"].name})
_CLOCKS: Final = frozenset({s.TIME, *(TIME_TYPES[name].name for name in ("Time", "MicroTime", "NanoTime"))})
_TOO_FINE: Final = r"(\.\d{6})\d+"
_ENDLESS: Final = ("infinity", "-infinity")
_LOGICAL: Final = frozenset({s.DATE, s.TIME, s.TIMESTAMP})


@dataclass(frozen=True, slots=True)
class Zones:
    """Holds the zones in which wall clocks are written: one for moments, and one for dates, which are midnight in
    UTC.
    """

    clock: ZoneInfo
    date: ZoneInfo
    shows_times: bool = False
    """True if numbers of Debezium's types of times become dates and times in columns of texts, too."""


def moments_us(array: pa.Array, schema: s.Schema, raw: Raw) -> pa.Array | None:
    """Return dates, times of day and timestamps as microseconds since the epoch, or None if the column holds no
    moments.

    Values of Debezium's types are moments if the table's column holds moments; else they stay numbers and texts.
    """
    if schema.name in _LOGICAL:
        kind = pa.timestamp("us") if pa.types.is_date(array.type) else None
        kind = pa.time64("us") if pa.types.is_time(array.type) else kind or pa.timestamp("us", "UTC")
        return array.cast(kind).cast(pa.int64())
    name = (schema.name or "").removeprefix(NAMESPACE)
    if not (schema.name or "").startswith(NAMESPACE) or raw not in _MOMENTS:
        return None
    if name in _US_PER:
        return pc.multiply_checked(array.cast(pa.int64()), _US_PER[name])
    if name in _NANOS:
        return (
            pc.floor_temporal(array.cast(pa.timestamp("ns")), unit="microsecond")
            .cast(pa.timestamp("us"))
            .cast(pa.int64())
        )
    if name in {"IsoTimestamp", "ZonedTimestamp"}:
        cut = pc.replace_substring_regex(array, _TOO_FINE, r"\1")
        return cut.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return None


def text_of(array: pa.Array, schema: s.Schema, raw: Raw, zones: Zones) -> pa.Array:
    """Return the texts of a column's values, null for null; bytes stay bytes. SchemaError: the column cannot hold them.

    `raw` is the kind of values that the table's column holds. Sessions are in UTC, so that an instant needs no zone.
    """
    if schema.name == TIME_TYPES["ZonedTimestamp"].name and raw in _MOMENTS:
        endless = pc.is_in(array, pa.array(_ENDLESS))
        if pc.any(endless).as_py():
            finite = pc.if_else(endless, pa.scalar(None, array.type), array)
            return pc.if_else(endless, array, text_of(finite, schema, raw, zones))
    try:
        is_shown = zones.shows_times and raw is Raw.TEXT and schema.type is not s.Type.STRING
        moments = moments_us(array, schema, Raw.WALL_CLOCK if is_shown else raw)
        if moments is not None:
            return _moment_text(moments, schema, raw, zones)
    except (Misfit, pa.ArrowInvalid) as error:
        raise SchemaError(f"A value of {schema.name} has no text that a database reads: {error}") from error
    if schema.name == s.DECIMAL:
        return array.cast(pa.string())
    make = _TEXTS.get(schema.type)
    return _nested(array, schema) if make is None else make(array, raw)


def _moment_text(moments: pa.Array, schema: s.Schema, raw: Raw, zones: Zones) -> pa.Array:
    if raw not in _MOMENTS | {Raw.TEXT}:
        return pc.divide(moments, 1000).cast(pa.string())  # as Java's drivers store them in numbers
    if raw is Raw.INSTANT:
        return _iso(moments, _UTC)
    walls = _iso(moments, zones.date if schema.name in _DATES else zones.clock)
    if raw is Raw.DATE or (raw is Raw.TEXT and schema.name in _DATES):
        return pc.utf8_slice_codeunits(walls, 0, 10)
    if raw is Raw.TIME or (raw is Raw.TEXT and schema.name in _CLOCKS):
        clocks = pc.utf8_slice_codeunits(walls, 11)
        return _with_hours(clocks, moments) if schema.name in _CLOCKS else clocks
    return walls


def _with_hours(clocks: pa.Array, moments: pa.Array) -> pa.Array:
    """Return the times of day, where one beyond a day has its hours: only the database knows if it holds such a one."""
    is_of_day = pc.and_(pc.greater_equal(moments, 0), pc.less(moments, DAY_US))
    if pc.all(is_of_day).as_py() is not False:
        return clocks
    return pc.if_else(is_of_day, clocks, pa.array(map(_hours, moments.to_pylist()), pa.string()))


def _hours(us: int | None) -> str | None:
    if us is None:
        return None
    seconds, fraction = divmod(abs(us), 10**6)
    minutes, seconds = divmod(seconds, 60)
    return f"{'-' * (us < 0)}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{fraction:06}"


def _iso(moments: pa.Array, tz: ZoneInfo) -> pa.Array:
    return timestamps(moments, "micros_iso_datetime_string", tz)


def _whole(array: pa.Array, raw: Raw) -> pa.Array:
    if raw in _MOMENTS:
        raise SchemaError(
            "A number without a type of times is no date or time.", key="timestamp.fields.list",
            fix="Name the field there, or convert it by the transform TimestampConverter.",
        )  # fmt: skip
    return array.cast(pa.string())


def _real(array: pa.Array, raw: Raw) -> pa.Array:
    return _whole(array, raw)


def _boolean(array: pa.Array, raw: Raw) -> pa.Array:
    if raw is Raw.TEXT:
        return array.cast(pa.string())
    return array.cast(pa.int8()).cast(pa.string())


def _text(array: pa.Array, raw: Raw) -> pa.Array:
    if raw is Raw.BYTES:
        raise SchemaError("A text is no bytes.", fix="Make the column one of text, or the field one of bytes.")
    return array.cast(pa.string())


def _bytes(array: pa.Array, raw: Raw) -> pa.Array:
    if raw is not Raw.BYTES:
        raise SchemaError(f"Bytes do not go into a column of {raw}.", fix="Make it a column of bytes.")
    return array.cast(pa.binary())


_TEXTS: Final[dict[s.Type, Callable[[pa.Array, Raw], pa.Array]]] = {
    **dict.fromkeys((s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64), _whole),
    s.Type.FLOAT32: _real, s.Type.FLOAT64: _real, s.Type.BOOLEAN: _boolean, s.Type.STRING: _text, s.Type.BYTES: _bytes,
}  # fmt: skip


def _nested(array: pa.Array, schema: s.Schema) -> pa.Array:
    """Return lists, maps and structs as JSON. SchemaError: JSON cannot hold a value."""
    strange = _strange_in(schema)
    if strange is not None:
        raise SchemaError(
            f"A {schema.type} that holds {strange} has no form in JSON.", fix="Flatten it, or leave it out."
        )
    try:
        rows = rows_from_arrow(array)
        if _has_short_floats(schema):
            rows = [_with_short_floats(value, schema) for value in rows]
        return pa.array([None if value is None else _json(value) for value in rows], pa.string())
    except ValueError as error:
        raise SchemaError(f"A {schema.type} holds what JSON does not: {error}") from error


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _has_short_floats(schema: s.Schema) -> bool:
    inner = [f.schema for f in schema.fields] + ([schema.items] if schema.items is not None else [])
    return schema.type is s.Type.FLOAT32 or any(map(_has_short_floats, inner))


def _with_short_floats(value: Any, schema: s.Schema) -> Any:
    """Return a value whose floats of 32 bits have no more digits than tell them apart: 0.1 for 0.10000000149011612."""
    if value is None:
        return None
    match schema.type:
        case s.Type.FLOAT32:
            return shortest_float32(value)
        case s.Type.ARRAY if schema.items is not None:
            return [_with_short_floats(item, schema.items) for item in value]
        case s.Type.MAP if schema.items is not None:
            return {name: _with_short_floats(item, schema.items) for name, item in value.items()}
        case s.Type.STRUCT:
            return {field.name: _with_short_floats(value[field.name], field.schema) for field in schema.fields}
    return value


def _strange_in(schema: s.Schema) -> str | None:
    if schema.type is s.Type.BYTES or schema.name in _LOGICAL:
        return schema.name or str(schema.type)
    if schema.keys is not None and schema.keys.type is not s.Type.STRING:
        return f"keys of type {schema.keys.type}"
    inner = [f.schema for f in schema.fields] + ([schema.items] if schema.items is not None else [])
    return next((found for one in inner if (found := _strange_in(one)) is not None), None)
