"""Decides the path of each row below its topic.

All code is vectorised. A row always gets the same path, unless the path depends on the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connectors.s3.paths.columns import field_column, rows_without
from connectors.s3.paths.layout import directory
from connectors.s3.paths.path_format import PathFormat
from connectors.s3.paths.refused_field import refusal
from connectors.s3.paths.timestamps import TimestampExtractor

if TYPE_CHECKING:
    import pyarrow as pa

_directory = lru_cache(maxsize=50_000)(directory)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times are counted from the local epoch


@dataclass(frozen=True, slots=True)
class Paths:
    """Holds the path of each row: `names[codes[row]]`, or `names[0]` if `codes` is None. Rows in `bad` have no path."""

    names: Sequence[str]
    codes: pa.Int32Array | None = None
    bad: Mapping[int, Exception] = field(default_factory=dict)


class Partitioner(Protocol):
    """Decides the paths of rows."""

    def paths(self, batch: Batch) -> Paths:
        """Return the path of each row of a sink batch, which is not empty.

        RejectedRowsError: the rows that it names have no path. SchemaError: some rows have no path; smaller batches
        show which ones.
        """


@dataclass(frozen=True, slots=True)
class DefaultPartitioner:
    """Makes paths of the Kafka partition: `partition=0`."""

    def paths(self, batch: Batch) -> Paths:
        """Return one path for the whole batch."""
        assert batch.consumed is not None
        return Paths((f"partition={batch.consumed.topic_partition.partition}",))


@dataclass(frozen=True, slots=True)
class FieldPartitioner:
    """Makes paths of the values of fields: `country=DE/tier=2`.

    The fields may hold booleans, integers, text and dates; null has the name that Hive gives it. A row without the
    field is bad.
    """

    fields: tuple[str, ...]
    delimiter: str

    def paths(self, batch: Batch) -> Paths:
        """Return the paths, made field by field; each distinct value is turned into its directory once."""
        import pyarrow as pa
        import pyarrow.compute as pc

        shown = [self._directories(batch, name) for name in self.fields]
        if len(shown) == 1 and len(set(shown[0].names)) == len(shown[0].names):
            return shown[0]
        parts = [pa.array(own.names, pa.string()).take(own.codes) for own in shown]
        joined = pc.binary_join_element_wise(*parts, self.delimiter) if len(parts) > 1 else parts[0]
        encoded = joined.dictionary_encode()
        bad = {row: error for own in shown for row, error in own.bad.items()}
        return Paths(encoded.dictionary.to_pylist(), encoded.indices, bad)

    @staticmethod
    def _directories(batch: Batch, name: str) -> Paths:
        texts = _text(batch, name)
        encoded = texts.dictionary_encode(null_encoding="encode")
        names = [_directory(name, value) for value in encoded.dictionary.to_pylist()]
        missing = SchemaError(
            "The value has no such field.", field=name, fix="Name a field that all values have in partition.field.name."
        )
        return Paths(names, encoded.indices, dict.fromkeys(rows_without(batch, name, texts), missing))


@dataclass(frozen=True, slots=True)
class TimePartitioner:
    """Makes paths of the time of a row.

    The time is rounded down, in its zone, to a multiple of `duration_ms` since the local epoch.
    """

    extractor: TimestampExtractor
    duration_ms: int
    format: PathFormat
    timezone: str

    def paths(self, batch: Batch) -> Paths:
        """Return the paths; each distinct rounded time is formatted once."""
        import pyarrow as pa
        import pyarrow.compute as pc

        times = self.extractor.times(batch)
        local = pa.array(self._local(times.epoch_ms))
        encoded = local.dictionary_encode()
        bad = dict(times.bad)
        names = []
        for code, moment in enumerate(encoded.dictionary):
            try:
                names.append(self.format.format(_EPOCH + timedelta(milliseconds=moment.as_py())))
            except OverflowError:
                names.append("")
                error = SchemaError(
                    f"{moment.as_py()} ms since 1970 is no year from 1 to 9999.", fix="Give milliseconds."
                )
                rows = pc.indices_nonzero(pc.fill_null(pc.equal(encoded.indices, code), fill_value=False))
                bad |= dict.fromkeys(rows.to_pylist(), error)
        # Several rounded times may have the same path.
        places = {name: code for code, name in enumerate(dict.fromkeys(names))}
        return Paths(list(places), pa.array([places[name] for name in names], pa.int32()).take(encoded.indices), bad)

    def _local(self, epoch_ms: pa.Int64Array) -> pa.Int64Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        local = pc.local_timestamp(epoch_ms.cast(pa.timestamp("ms", tz=self.timezone))).cast(pa.int64())
        # Arrow divides towards zero, but times before 1970 have to be rounded down, too.
        shift = pc.if_else(pc.less(local, 0), self.duration_ms - 1, 0)
        return pc.multiply(pc.divide(pc.subtract(local, shift), self.duration_ms), self.duration_ms)


@dataclass(frozen=True, slots=True)
class FieldAndTimePartitioner:
    """Makes paths of fields, and below them of the time: `country=DE/year=2024`."""

    fields: FieldPartitioner
    times: TimePartitioner

    def paths(self, batch: Batch) -> Paths:
        """Return the paths of both, one below the other."""
        import pyarrow as pa
        import pyarrow.compute as pc

        above, below = self.fields.paths(batch), self.times.paths(batch)
        assert above.codes is not None
        assert below.codes is not None
        width = max(1, len(below.names))
        both = pc.add(
            pc.multiply(above.codes.cast(pa.int64()), width), below.codes.cast(pa.int64())
        ).dictionary_encode()
        names = [
            self.fields.delimiter.join((above.names[code // width], below.names[code % width]))
            for code in both.dictionary.to_pylist()
        ]
        return Paths(names, both.indices, {**above.bad, **below.bad})


@dataclass(frozen=True, slots=True)
class SchemaNamePartitioner:
    """Puts the name of the values' schema as a directory above or below the path of another partitioner."""

    others: Partitioner
    delimiter: str
    is_above: bool

    def paths(self, batch: Batch) -> Paths:
        """Return the paths.

        As in Confluent's sink, the directory is `null` if there is no schema, or it has no name.
        """
        found = self.others.paths(batch)
        schema = batch.values.schema
        name = directory("schema_name", (None if schema is None else schema.name) or "null")
        pairs = ((name, path) if self.is_above else (path, name) for path in found.names)
        return replace(found, names=[self.delimiter.join(pair) for pair in pairs])


@dataclass(frozen=True, slots=True)
class TombstonePartitioner:
    """Gives records without a value a separate path; all others get the path of another partitioner."""

    others: Partitioner
    path: str

    def paths(self, batch: Batch) -> Paths:
        """Return the paths. The other partitioner is not asked for records without a value."""
        import numpy as np
        import pyarrow as pa

        values = batch.values.arrow()
        if not values.null_count:
            return self.others.paths(batch)
        if values.null_count == len(batch):
            return Paths((self.path,))
        there = values.is_valid().to_numpy(zero_copy_only=False).nonzero()[0]
        try:
            found = self.others.paths(batch.take(there.tolist()))
        except RejectedRowsError as error:
            raise RejectedRowsError({int(there[row]): why for row, why in error.rows.items()}) from error
        codes = np.full(len(batch), len(found.names), np.int32)
        codes[there] = 0 if found.codes is None else found.codes.fill_null(0).to_numpy()
        bad = {int(there[row]): error for row, error in found.bad.items()}
        return Paths((*found.names, self.path), pa.array(codes), bad)


def _text(batch: Batch, name: str) -> pa.StringArray:
    import pyarrow as pa
    import pyarrow.types as t

    column = field_column(batch, name)
    kind = column.type
    known = (t.is_boolean, t.is_integer, t.is_string, t.is_large_string, t.is_string_view, t.is_date, t.is_null)
    if not any(test(kind) for test in known):
        unfit = SchemaError(
            f"FieldPartitioner cannot make a directory of Arrow type {kind}.",
            field=name,
            fix="Name a field of booleans, whole numbers, text or dates in partition.field.name.",
        )
        raise refusal(batch, unfit)
    return column.cast(pa.string())
