"""Defines converters, which turn columns into bytes and back. They know nothing of Kafka, tasks or errors.tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from connect.api.records import Column, Header

if TYPE_CHECKING:
    import pyarrow as pa


class Converter(Protocol):
    """Turns the keys or the values of a batch into bytes and back. A task has one for keys and one for values."""

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:
        """Return one byte string per row. It is null if the row is null and the format writes a null as a tombstone.

        Raise RejectedRowsError, which names rows that do not fit; the caller then encodes the others again. Raise
        SchemaError if the whole column does not fit.
        """

    def decode(self, topic: str, data: pa.BinaryArray) -> Sequence[Column]:
        """Return the rows in order, as one column for each run of rows with the same schema. The columns' lengths add
        up to `len(data)`.

        A null in `data` gives a null row, which belongs to the run beside it. RejectedRowsError names rows that cannot
        be read.
        """


class HeaderConverter(Protocol):
    """Turns one header value into bytes and back."""

    def encode(self, topic: str, header: Header) -> bytes | None:
        """Return the header's bytes; None for a null value."""

    def decode(self, topic: str, key: str, data: bytes | None) -> Header:
        """Return the header that these bytes stand for."""


class AvroValues(Protocol):
    """Encodes values of one schema in Avro's binary form, for files; see `SinkContext.avro`."""

    @property
    def schema_text(self) -> str:
        """Return the Avro schema as JSON."""

    def encode(self, values: pa.Array) -> pa.BinaryArray:
        """Return one Avro datum per value. No value may be null. SchemaError: a value does not fit."""
