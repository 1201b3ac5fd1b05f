"""Writes records that are made of the parts of Kafka's record which format.output.fields of Aiven's sinks names.

The module knows no file names and no S3. The forms are those of io.aiven.kafka.connect.common.output. In CSV a key is
base64, headers are base64 texts name:value with a semicolon between them, and a value is base64 or unchanged. In JSON
all of them are JSON, and a timestamp is ISO 8601.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Header
from connect.api.values.text import java_string
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.file_format import Format, Prepared, StoredObject
from connectors.s3.formats.iso_times import iso_texts
from connectors.s3.formats.json_lines import json_lines
from connectors.s3.formats.text import ARRAY, LINES, Frame, TextEncoder
from connectors.s3.paths.refused_field import refusal

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER: Final = s.struct({"key": s.STRING, "value": s.STRING.as_optional()})


@dataclass(frozen=True, slots=True)
class JsonEnvelope(Format):
    """Makes JSON of parts of a record: with `has_envelope` one object per record, else its only part.

    `frame` tells if the file has lines or is an array.
    """

    fields: Sequence[str]
    has_envelope: bool
    frame: Frame
    compression: Compression

    @property
    def extension(self) -> str:
        """Return nothing, as the template of the file name has the extension."""
        return ""

    @property
    def content_type(self) -> str:
        """Return the compression's media type, or else that of JSON or of its lines."""
        own = "application/json" if self.frame == ARRAY else "application/x-ndjson"
        return self.compression.content_type or own

    def prepare(self, batch: Batch) -> Prepared:
        """Return one text per record."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = {field: _JSON[field](batch) for field in self.fields}
        if not self.has_envelope:
            return Prepared(texts[self.fields[0]], None)
        kind = pa.large_binary()
        parts: list[Any] = []
        for number, (field, text) in enumerate(texts.items()):
            parts.extend((pa.scalar(f'{"," if number else "{"}"{field}":'.encode(), kind), text))
        rows = pc.binary_join_element_wise(*parts, pa.scalar(b"}", kind), pa.scalar(b"", kind))
        return Prepared(rows, None)

    def encoder(self) -> TextEncoder:
        """Return the encoder of an empty file."""
        return TextEncoder(self.frame, self.compression)


@dataclass(frozen=True, slots=True)
class PlainFields(Format):
    """Makes a line of each record, with commas between the parts of the record."""

    fields: Sequence[str]
    value_is_base64: bool
    compression: Compression

    @property
    def extension(self) -> str:
        """Return nothing, as the template of the file name has the extension."""
        return ""

    @property
    def content_type(self) -> str:
        """Return the compression's media type, or else the registered type of CSV."""
        return self.compression.content_type or "text/csv"

    def prepare(self, batch: Batch) -> Prepared:
        """Return one line per record. A value that is neither bytes nor text is refused."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = [self._column(batch, field) for field in self.fields]
        return Prepared(pc.binary_join_element_wise(*columns, pa.scalar(b",", pa.large_binary())), None)

    def _column(self, batch: Batch, field: str) -> pa.Array:
        import pyarrow as pa

        size = len(batch)
        match field:
            case "value":
                return _bytes_of(batch, batch.values, is_base64=self.value_is_base64)
            case "key":
                keys = batch.keys if batch.keys is not None else Column.nulls(size)
                return _bytes_of(replace(batch, values=keys, keys=None, headers=None), keys, is_base64=True)
            case "headers":
                texts = [_plain_headers(own) for own in batch.headers or [()] * size]
                return pa.array(texts, pa.large_binary())
            case "timestamp":
                return _JSON["timestamp"](batch).cast(pa.large_string()).cast(pa.large_binary())
        return _JSON[field](batch)

    def encoder(self) -> TextEncoder:
        """Return the encoder of an empty file."""
        return TextEncoder(LINES, self.compression)


@dataclass(frozen=True, slots=True)
class StructEnvelope:
    """Makes Avro or Parquet of parts of a record: with `has_envelope` a struct of them, else its only part."""

    inner: Format
    fields: Sequence[str]
    has_envelope: bool

    @property
    def extension(self) -> str:
        """Return nothing, as the template of the file name has the extension."""
        return ""

    @property
    def content_type(self) -> str:
        """Return the media type of the inner format."""
        return self.inner.content_type

    def prepare(self, batch: Batch) -> Prepared:
        """Return the struct, or the only field, as the inner format writes it."""
        columns = {field: _COLUMNS[field](batch) for field in self.fields}
        column = self._struct(columns) if self.has_envelope else columns[self.fields[0]]
        return self.inner.prepare(replace(batch, values=column, keys=None, headers=None))

    @staticmethod
    def _struct(columns: Mapping[str, Column]) -> Column:
        import pyarrow as pa

        arrays = {name: column.arrow() for name, column in columns.items()}
        nullable = {name: column.schema is None or column.schema.optional for name, column in columns.items()}
        fields = [pa.field(name, array.type, nullable[name]) for name, array in arrays.items()]
        struct = pa.StructArray.from_arrays(list(arrays.values()), fields=fields)
        schemas = {name: column.schema for name, column in columns.items() if column.schema is not None}
        if len(schemas) < len(columns):
            return Column.whole(struct)
        return Column.from_arrow(struct, s.struct(schemas))

    def encoder(self) -> Any:
        """Return the inner format's encoder of an empty file."""
        return self.inner.encoder()

    def objects(self, body: Any) -> Sequence[StoredObject]:
        """Return the inner format's objects without an extension."""
        return [replace(one, extension="") for one in self.inner.objects(body)]


def _keys(batch: Batch) -> Column:
    return batch.keys if batch.keys is not None else Column.nulls(len(batch), s.STRING.as_optional())


def _offsets(batch: Batch) -> Column:
    assert batch.consumed is not None
    return Column.from_arrow(batch.consumed.offsets, s.INT64)


def _times(batch: Batch) -> Column:
    import pyarrow as pa

    times = batch.timestamps_ms if batch.timestamps_ms is not None else pa.nulls(len(batch), pa.int64())
    return Column.from_arrow(times.cast(pa.timestamp("ms", tz="UTC")), s.TIMESTAMP_SCHEMA.as_optional())


def _headers(batch: Batch) -> Column:
    rows = [[_header(header) for header in own] for own in batch.headers or [()] * len(batch)]
    return Column.from_rows(rows, s.array(_HEADER))


def _header(header: Header) -> dict[str, str | None]:
    return {"key": header.key, "value": None if header.value is None else java_string(header.value, header.schema)}


_COLUMNS: Final[Mapping[str, Callable[[Batch], Column]]] = {
    "key": _keys, "value": lambda batch: batch.values, "offset": _offsets, "timestamp": _times, "headers": _headers,
}  # fmt: skip


def _json(column: Column) -> pa.Array:
    import pyarrow as pa

    return json_lines(column, numeric_decimals=False).fill_null(pa.scalar(b"null", pa.large_binary()))


def _json_times(batch: Batch) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = iso_texts(_times(batch).arrow()).cast(pa.large_binary())
    quote, nothing = (pa.scalar(text, pa.large_binary()) for text in (b'"', b""))
    quoted = pc.binary_join_element_wise(quote, texts, quote, nothing)
    return quoted.fill_null(pa.scalar(b"null", pa.large_binary()))


_JSON: Final[Mapping[str, Callable[[Batch], Any]]] = {
    "key": lambda batch: _json(_keys(batch)), "value": lambda batch: _json(batch.values),
    "offset": lambda batch: _json(_offsets(batch)), "timestamp": _json_times,
    "headers": lambda batch: _json(_headers(batch)),
}  # fmt: skip


def _bytes_of(batch: Batch, column: Column, *, is_base64: bool) -> pa.Array:
    """Return the values as bytes; a null becomes an empty text."""
    import pyarrow as pa
    import pyarrow.types as t

    array = column.arrow()
    kinds = (t.is_binary, t.is_large_binary, t.is_string, t.is_large_string, t.is_string_view, t.is_binary_view)
    if not t.is_null(array.type) and not any(test(array.type) for test in kinds):
        unfit = SchemaError(
            f"Aiven's csv cannot write Arrow type {array.type} of topic {batch.topic}.",
            fix="Use the ByteArrayConverter or the StringConverter, or format.output.type=jsonl.",
        )
        raise refusal(batch, unfit)
    found = array.cast(pa.large_binary()).fill_null(b"")
    if not is_base64:
        return found
    return pa.array([base64.b64encode(value) for value in found.to_pylist()], pa.large_binary())


def _plain_headers(headers: Sequence[Header]) -> bytes:
    def text(value: object, schema: s.Schema | None) -> bytes:
        return base64.b64encode(value if isinstance(value, bytes) else java_string(value, schema).encode())

    return b";".join(text(h.key, None) + b":" + text(h.value, h.schema) for h in headers)
