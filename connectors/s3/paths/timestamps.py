"""Tells the time of each record, for paths and for rotation. The only clock is a function that is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connectors.s3.paths.columns import field_column
from connectors.s3.paths.refused_field import refusal

if TYPE_CHECKING:
    import pyarrow as pa

_INT64 = 2.0**63
_HAS_ZONE = r"(Z|[+-]\d\d:?\d\d)$"
_MILLISECONDS = r"^-?[0-9]{1,18}$"
_FULL = (
    (r"^(\d{4}-\d\d)$", r"\1-01"),
    (r"(:\d\d)[.,](\d{1,6})\d*", r"\1.\2"),
    (r"(T[\d:.]+[+-]\d\d)$", r"\1:00"),
)
"""Maps forms of ISO 8601 that Joda reads to those that Arrow reads."""


@dataclass(frozen=True, slots=True)
class Times:
    """Holds the time of each row in epoch milliseconds (int64). Exactly the rows in `bad` are null."""

    epoch_ms: pa.Int64Array
    bad: Mapping[int, Exception] = field(default_factory=dict)


class TimestampExtractor(Protocol):
    """Tells the time of records."""

    def times(self, batch: Batch) -> Times:
        """Return the time of each row."""


@dataclass(frozen=True, slots=True)
class Wallclock:
    """Gives all rows the present time."""

    now_ms: Callable[[], int]

    def times(self, batch: Batch) -> Times:
        """Return the present time for every row."""
        import pyarrow as pa

        return Times(pa.repeat(pa.scalar(self.now_ms(), pa.int64()), len(batch)))


@dataclass(frozen=True, slots=True)
class RecordTime:
    """Gives each row the timestamp that Kafka has for the record."""

    def times(self, batch: Batch) -> Times:
        """Return the timestamps that Kafka gave the rows; a row without one is bad."""
        import pyarrow as pa

        times = batch.timestamps_ms if batch.timestamps_ms is not None else pa.nulls(len(batch), pa.int64())
        return _checked(times, times, "The record has no Kafka timestamp")


@dataclass(frozen=True, slots=True)
class FieldTime:
    """Gives each row the time in one of its fields.

    The field holds epoch milliseconds, also as text, a Timestamp, a Date, or ISO 8601 text (without a zone it is UTC).
    A text of digits alone is milliseconds, not a year, as in Confluent's sink. The milliseconds of rows without a
    schema may have a fraction, which does not count.
    """

    path: str

    def times(self, batch: Batch) -> Times:
        """Return the field as milliseconds; a row that holds no time is bad."""
        column = field_column(batch, self.path)
        if batch.values.schema is None:
            column = _whole(column)
        times = _milliseconds(column)
        if times is None:
            unfit = SchemaError(
                f"Arrow type {column.type} is no time.", field=self.path, fix="Name a field with a time."
            )
            raise refusal(batch, unfit)
        return _checked(times, column, f"Field {self.path!r} holds no time")


@dataclass(frozen=True, slots=True)
class TombstoneTime:
    """Gives records without a value the timestamp that Kafka has for them; all others get the time of another one."""

    others: TimestampExtractor

    def times(self, batch: Batch) -> Times:
        """Return the times. The other extractor is not asked for records without a value."""
        import pyarrow as pa

        values = batch.values.arrow()
        if not values.null_count:
            return self.others.times(batch)
        of_kafka = RecordTime().times(batch)
        there = values.is_valid().to_numpy(zero_copy_only=False).nonzero()[0].tolist()
        if not there:
            return of_kafka
        try:
            found = self.others.times(batch.take(there))
        except RejectedRowsError as error:
            raise RejectedRowsError({there[row]: why for row, why in error.rows.items()}) from error
        times = of_kafka.epoch_ms.to_pylist()
        for row, time in zip(there, found.epoch_ms.to_pylist(), strict=True):
            times[row] = time
        gone = {row: error for row, error in of_kafka.bad.items() if not values[row].is_valid}
        bad = gone | {there[row]: error for row, error in found.bad.items()}
        return Times(pa.array(times, pa.int64()), bad)


def _checked(times: pa.Int64Array, given: pa.Array, what: str) -> Times:
    import pyarrow.compute as pc

    if times.null_count == 0:
        return Times(times)
    rows = pc.indices_nonzero(times.is_null()).to_pylist()
    return Times(times, {row: SchemaError(f"{what} but a {type(given[row].as_py()).__name__}.") for row in rows})


def _whole(column: pa.Array) -> pa.Array:
    """Return doubles without their fractions, as JSON may have 1.7e12 for a whole number, and others as they are.

    A number that no time can be becomes null.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    is_time = pc.less(pc.abs(column), _INT64)
    return pc.if_else(is_time, pc.trunc(column), None).cast(pa.int64())


def _milliseconds(column: pa.Array) -> pa.Int64Array | None:
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_integer(column.type) or t.is_null(column.type):
        return column.cast(pa.int64())
    if t.is_date(column.type):
        return column.cast(pa.timestamp("ms")).cast(pa.int64())
    if t.is_timestamp(column.type):
        return column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    if t.is_string(column.type) or t.is_large_string(column.type) or t.is_string_view(column.type):
        return _parsed(column)
    return None


def _parsed(texts: pa.Array) -> pa.Int64Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_number = pc.fill_null(pc.match_substring_regex(texts, _MILLISECONDS), False)
    if not pc.any(is_number).as_py():
        return _moments(texts)
    none = pa.scalar(None, texts.type)
    numbers = pc.if_else(is_number, texts, none).cast(pa.int64())
    return pc.coalesce(numbers, _moments(pc.if_else(is_number, none, texts)))


def _moments(texts: pa.Array) -> pa.Int64Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    with suppress(pa.ArrowInvalid):
        return _parse(texts)
    full = _in_full(texts)
    try:
        return _parse(full)
    except pa.ArrowInvalid:
        unique = full.dictionary_encode()
        moments = pa.array([_parse_one(text) for text in unique.dictionary], pa.int64())
        return pc.take(moments, unique.indices)


def _in_full(texts: pa.Array) -> pa.Array:
    """Return texts as Arrow reads them: with month and day, a point and six digits of a second at most, and minutes of
    an offset.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = texts.cast(pa.large_string())
    for pattern, full in _FULL:
        texts = pc.replace_substring_regex(texts, pattern, full)
    return texts


def _parse(texts: pa.Array) -> pa.Int64Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    zoned = pc.match_substring_regex(texts, _HAS_ZONE)
    none = pa.scalar(None, texts.type)
    absolute = pc.if_else(zoned, texts, none).cast(pa.timestamp("us", tz="UTC"))
    local = pc.if_else(zoned, none, texts).cast(pa.timestamp("us"))
    micros = pc.coalesce(absolute.cast(pa.int64()), local.cast(pa.int64()))
    return pc.floor(pc.divide(micros.cast(pa.float64()), 1000.0)).cast(pa.int64())


def _parse_one(text: pa.Scalar) -> int | None:
    import pyarrow as pa

    try:
        moment: int | None = _parse(pa.array([text.as_py()], pa.string()))[0].as_py()
    except pa.ArrowInvalid:
        return None
    return moment
