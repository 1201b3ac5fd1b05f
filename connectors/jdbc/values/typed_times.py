"""Makes dates and times values of Debezium's types (`time.precision.mode`), by the column. Pure.

Source: the data type tables in Debezium 3's documentation of its PostgreSQL and MariaDB connectors.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.errors import SchemaError
from connect.api.schema import Schema
from connect.api.time_types import TIME_TYPES, encoded_times, time_type
from connectors.jdbc.values.temporal import Misfit, whole
from connectors.jdbc.values.zone_columns import DAY_US


def has(schema: Schema) -> bool:
    """Return True if a column's values are of one of these types."""
    return time_type(schema.name) is not None


def dates(array: pa.Array, schema: Schema) -> pa.Array:
    """Return dates of date32 in the schema's type."""
    return _encoded(array, schema, None)


def timestamps(instants_us: pa.Array, schema: Schema, digits: int | None) -> pa.Array:
    """Return instants of epoch microseconds in the schema's type. Zoned texts show as many digits as the column
    keeps.
    """
    moments = instants_us.cast(pa.timestamp("us", "UTC"))
    is_zoned = schema.name == TIME_TYPES["ZonedTimestamp"].name
    return _encoded(moments, schema, digits if is_zoned and digits and digits > 0 else None)


def times(micros: pa.Array, schema: Schema) -> pa.Array:
    """Return times of microseconds since midnight in the schema's type.

    As numbers they may be those of MySQL, beyond a day or negative.
    """
    if schema.name == TIME_TYPES["Time"].name:
        return whole(micros, 1000, "microseconds").cast(pa.int32())
    if schema.name == TIME_TYPES["MicroTime"].name:
        return micros
    if schema.name == TIME_TYPES["NanoTime"].name:
        return pc.multiply_checked(micros, 1000)
    span = pc.min_max(micros).as_py()
    if span["min"] is not None and not 0 <= span["min"] <= span["max"] < DAY_US:
        raise Misfit("it is not a time of day from 00:00:00 to before 24:00:00, which ISO text holds")
    return _encoded(micros.cast(pa.time64("us")), schema, None)


def _encoded(array: pa.Array, schema: Schema, digits: int | None) -> pa.Array:
    try:
        return encoded_times(array, schema, digits=digits)
    except SchemaError as error:
        raise Misfit(error.message) from error


def zoned_times(texts: pa.Array) -> pa.Array:
    """Return PostgreSQL's times with a zone, 12:34:56.5+02, as ISO text in UTC. Each distinct one is looked at once."""
    distinct = pc.unique(texts.drop_null())
    made = pa.array([_in_utc(text) for text in distinct.to_pylist()], pa.string())
    return made.take(pc.index_in(texts, distinct)) if len(distinct) else texts.cast(pa.string())


_ANY_DAY = date(2000, 1, 2)


def _in_utc(text: str) -> str:
    try:
        given = time.fromisoformat(text)
    except ValueError:
        raise Misfit("it is not a time of day from 00:00:00 to before 24:00:00") from None
    moved = datetime.combine(_ANY_DAY, given).astimezone(UTC).time()
    shown = moved.isoformat("microseconds").rstrip("0").rstrip(".") if moved.microsecond else moved.isoformat()
    return f"{shown}Z"
