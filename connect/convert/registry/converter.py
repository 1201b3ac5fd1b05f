"""Converts over a schema registry, whatever the format: chooses the schema, handles frame, tombstones and bad rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from connect.api.arrow_rows import rows_from_arrow
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.registry.client import Registered, RegistryClient
from connect.convert.registry.config import RegistryConfig
from connect.convert.registry.framing import IdRun, frame, runs_by_id
from connect.convert.registry.schema_size import well_formed
from connect.convert.registry.schemas import Recent, Schemas
from connect.convert.registry.transport import Transport
from connect.convert.vectors.cursor import spread
from connect.convert.vectors.pieces import Parts, joined, with_array

References = Sequence[tuple[str, Registered]]
Encode = Callable[[pa.Array], Parts]
"""Encodes rows without nulls to the parts that follow the frame. SchemaError when a value does not fit."""


@dataclass(frozen=True, slots=True)
class OwnSchema:
    """The schema that a column would be registered with, and the name that subjects may be called after."""

    registered: Registered
    record_name: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Tells how rows of one schema are read. `decode` gets framed rows without nulls, and raises RejectedRowsError.

    `split`: where one schema id holds several types, the consecutive rows of each (start, stop, how they are read).
    """

    schema: Schema
    decode: Callable[[pa.BinaryArray], pa.Array]
    record_name: str | None = None
    split: Callable[[pa.BinaryArray], Sequence[tuple[int, int, Reading]]] | None = None


class Format(Protocol):
    """A format that the registry knows: Avro, Protobuf or JSON Schema."""

    def own_schema(self, schema: Schema) -> OwnSchema:
        """Return the schema to register for a Connect schema. SchemaError when the format cannot hold it."""

    def encoder(self, schema: Schema, registered: Registered, references: References) -> Encode:
        """Return a function that writes columns of a Connect schema with a registered one.

        SchemaError when the two schemas do not go together.
        """

    def reading(self, registered: Registered, references: References, version: int | None) -> Reading:
        """Return how to read what was written with a registered schema. SchemaError when Connect has no type for it."""


class WholeEncode:
    """An Encode that may know to write whole rows: `whole` gives those of an array, each behind `before`, or None."""

    def __init__(self, parts: Encode, whole: Callable[[pa.Array, bytes], pa.BinaryArray | None]) -> None:
        self._parts = parts
        self.whole = whole

    def __call__(self, array: pa.Array) -> Parts:
        """Return the parts of every row."""
        return self._parts(array)


@dataclass(frozen=True, slots=True)
class _Writing:
    frame: pa.Scalar
    encode: Encode
    fresh_until: float | None

    def framed(self, array: pa.Array) -> pa.BinaryArray:
        """Return rows without nulls, each behind its frame."""
        if isinstance(self.encode, WholeEncode):
            made = self.encode.whole(array, self.frame.as_py())
            if made is not None:
                return made
        return joined([self.frame, *with_array(self.encode(array), len(array))])


class RegistryConverter:
    """Provides a `Converter` over a schema registry. Owned by one task thread.

    A null row is a tombstone and becomes null bytes, as with Confluent's serializers.
    """

    def __init__(self, config: RegistryConfig, make_format: Format, *, is_key: bool, cache_size: int) -> None:
        client = RegistryClient(Transport(config), normalize=config.normalize)
        self._format = make_format
        self._is_key = is_key
        self._schemas = Schemas(config, client, is_key=is_key)
        self._writings: Recent[tuple[str, Schema], _Writing] = Recent(cache_size)
        self._readings: Recent[tuple[str, int], Reading] = Recent(cache_size)

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:
        """Return one framed value per row, null for a null row."""
        if column.schema is None:
            return self._without_schema(column)
        array = column.arrow()
        if array.null_count == len(array):
            return pa.nulls(len(array), pa.binary())
        try:
            writing = self._writing(topic, column.schema)
        except SchemaError as error:
            raise RejectedRowsError(dict.fromkeys(range(len(array)), error)) from error
        if not array.null_count:
            return writing.framed(array)
        valid = array.is_valid()
        places = np.nonzero(valid.to_numpy(zero_copy_only=False))[0]
        with _placed(places):
            return spread(writing.framed(array.filter(valid)), places, len(array))

    def decode(self, topic: str, data: pa.BinaryArray) -> Sequence[Column]:
        """Return one column for each run of rows that share a schema id."""
        columns: list[Column] = []
        rejected: dict[int, Exception] = {}
        for run in runs_by_id(data):
            try:
                columns += self._decode_run(topic, data.slice(run.start, run.stop - run.start), run)
            except RejectedRowsError as error:
                rejected |= {run.start + row: reason for row, reason in error.rows.items()}
        if rejected:
            raise RejectedRowsError(rejected)
        return columns

    def _without_schema(self, column: Column) -> pa.BinaryArray:
        rows = [row for row, value in enumerate(column.rows()) if value is not None]
        if rows:
            error = SchemaError(
                "The row has no schema, and a schema registry converter writes none without.",
                fix="Use a source or a transform that gives one, or JsonConverter with schemas.enable=false.",
            )
            raise RejectedRowsError(dict.fromkeys(rows, error))
        return pa.nulls(len(column), pa.binary())

    def _writing(self, topic: str, schema: Schema) -> _Writing:
        key = topic, schema
        writing = self._writings.get(key, lambda: self._new_writing(topic, schema))
        if writing.fresh_until is not None and writing.fresh_until < time.monotonic():
            self._writings.clear()
            return self._writings.get(key, lambda: self._new_writing(topic, schema))
        return writing

    def _new_writing(self, topic: str, schema: Schema) -> _Writing:
        own = self._format.own_schema(schema)
        chosen = self._schemas.for_writing(topic, own.registered, own.record_name)
        assert chosen.schema_id is not None
        with well_formed(f"The schema of id {chosen.schema_id} of the registry"):
            encode = self._format.encoder(schema, chosen, self._schemas.references(chosen))
        fresh_until = self._schemas.fresh_until if self._schemas.changes_by_itself else None
        return _Writing(pa.scalar(frame(chosen.schema_id), pa.binary()), encode, fresh_until)

    def _decode_run(self, topic: str, data: pa.BinaryArray, run: IdRun) -> list[Column]:
        schema_id = run.schema_id
        if schema_id is None:
            return [Column.nulls(len(data))]
        try:
            reading = self._readings.get((topic, schema_id), lambda: self._new_reading(topic, schema_id))
        except SchemaError as error:
            present = np.nonzero(data.is_valid().to_numpy(zero_copy_only=False))[0]
            raise RejectedRowsError({int(row): error for row in present}) from error
        if reading.split is None:
            return [_column(data, reading)]
        columns: list[Column] = []
        rejected: dict[int, Exception] = {}
        for start, stop, part in reading.split(data):
            try:
                columns.append(_column(data.slice(start, stop - start), part))
            except RejectedRowsError as error:
                rejected |= {start + row: reason for row, reason in error.rows.items()}
        if rejected:
            raise RejectedRowsError(rejected)
        return columns

    def _new_reading(self, topic: str, schema_id: int) -> Reading:
        registered = self._schemas.for_reading(schema_id)
        references = self._schemas.references(registered)
        with well_formed(f"The schema of id {schema_id} of the registry"):
            reading = self._format.reading(registered, references, None)
        version = self._schemas.version(schema_id, topic, reading.record_name)
        return reading if version is None else self._format.reading(registered, references, version)


def _column(data: pa.BinaryArray, reading: Reading) -> Column:
    array = _decoded(data, reading)
    return Column(reading.schema, len(array), arrow=lambda: array, rows=lambda: rows_from_arrow(array))


def _decoded(data: pa.BinaryArray, reading: Reading) -> pa.Array:
    if not data.null_count:
        return reading.decode(data)
    places = np.nonzero(data.is_valid().to_numpy(zero_copy_only=False))[0]
    with _placed(places):
        return spread(reading.decode(data.drop_null()), places, len(data))


@contextmanager
def _placed(places: npt.NDArray[np.int64]) -> Iterator[None]:
    """Let a RejectedRowsError about rows without nulls name them by their `places` among all rows."""
    try:
        yield
    except RejectedRowsError as error:
        raise RejectedRowsError({int(places[row]): reason for row, reason in error.rows.items()}) from error
