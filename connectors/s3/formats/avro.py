"""Write records into Avro's object container files, each of one schema. The module knows no file names and no S3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from connect.api.codec import AvroValues
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.api.schema import Schema
from connectors.s3.formats.avro_codecs import CODECS
from connectors.s3.formats.avro_container import block, header, header_size, packed_blocks
from connectors.s3.formats.file_format import Format, Prepared

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES: Final = 64_000
"""Uncompressed bytes of a block, as Java's DataFileWriter cuts them (DEFAULT_SYNC_INTERVAL is 4,000 rows of 16)."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """The schema that a file is written with."""

    text: str

    def equals(self, other: AvroSchema) -> bool:
        """Return True if both schemas have the same text: a file holds records of one schema only."""
        return self.text == other.text

    def merged(self, new: AvroSchema) -> AvroSchema:
        """Raise SchemaError, as no Avro file holds rows of two schemas."""
        raise SchemaError("The schema changed." if new.text else "The schema is gone.")


@dataclass(slots=True)
class AvroFormat(Format):
    """The format that writes records of one schema per file.

    `values` returns how the values of a schema are written.
    """

    codec: str
    values: Callable[[Schema], AvroValues]
    _known: dict[Schema, AvroValues] = field(default_factory=dict)

    @property
    def extension(self) -> str:
        """Return Confluent's extension, of which the codec is no part."""
        return ".avro"

    @property
    def content_type(self) -> str:
        """Return the media type that is used for Avro files."""
        return "application/avro"

    def prepare(self, batch: Batch) -> Prepared:
        """Return one encoded record per row. Values without a schema are refused with RejectedRowsError."""
        import pyarrow as pa

        array = batch.values.arrow()
        valid = array.is_valid() if array.null_count else None
        schema = batch.values.schema
        if schema is None:
            refuse_schemaless(batch.topic, array)
            return Prepared(pa.nulls(len(array), pa.large_binary()), valid)
        writer = self._known.get(schema)
        if writer is None:
            self._known.clear()
            writer = self._known[schema] = self.values(schema)
        rows = writer.encode(array.drop_null() if valid is not None else array).cast(pa.large_binary())
        if valid is not None:
            there = valid.to_numpy(zero_copy_only=False)
            rows = rows.take(pa.array(np.cumsum(there) - 1, pa.int64(), mask=~there))
        return Prepared(rows, valid, AvroSchema(writer.schema_text))

    def encoder(self) -> AvroEncoder:
        """Return the encoder of an empty file."""
        return AvroEncoder(self.codec)


def refuse_schemaless(topic: str, array: pa.Array) -> None:
    """Raise RejectedRowsError for the rows that have a value."""
    import pyarrow.compute as pc

    rows = pc.indices_nonzero(array.is_valid()).to_pylist()
    if rows:
        error = SchemaError(
            f"AvroFormat writes values with a schema, and those of topic {topic} have none.",
            fix="Use a value.converter with schemas, or JsonFormat.",
        )
        raise RejectedRowsError(dict.fromkeys(rows, error))


class AvroEncoder:
    """An encoder that holds one open file in memory. The task thread owns it."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._schema: Any = None
        self._data = bytearray()
        self._block = bytearray()
        self._block_rows = 0
        self._lengths: list[Any] = []

    @property
    def size_bytes(self) -> int:
        """Return the bytes encoded so far, including those of the block that is being filled."""
        return len(self._data) + len(self._block)

    def write(self, rows: pa.Array, schema: Any) -> None:
        """Append records without nulls, whole blocks of them at once."""
        if self._schema is None:
            self._schema = schema
            self._data += header(schema.text, self._codec)
        _, offsets, data = rows.buffers()
        ends = np.frombuffer(offsets, np.int64)[rows.offset : rows.offset + len(rows) + 1]
        self._lengths.append(np.diff(ends))
        at, view = 0, memoryview(data) if data is not None else memoryview(b"")
        while at < len(rows):
            room = _BLOCK_BYTES - len(self._block)
            stop = min(int(np.searchsorted(ends, ends[at] + room, side="right")) - 1, len(rows))
            if stop == at and self._block:
                self._end_block()
                continue
            stop = max(stop, at + 1)
            self._block += view[int(ends[at]) : int(ends[stop])]
            self._block_rows += stop - at
            at = stop
            if at < len(rows):
                self._end_block()

    def can_become(self, schema: Any) -> bool:
        """Return True if the file has no schema yet or has this one: the schema of a file never widens."""
        return bool(self._schema is None or self._schema.equals(schema))

    def end(self) -> AvroBody:
        """End the last block and return the ended file."""
        import pyarrow as pa

        self._end_block()
        return AvroBody(pa.py_buffer(self._data), np.concatenate(self._lengths), self._schema, self._codec)

    def _end_block(self) -> None:
        if self._block_rows:
            packed = CODECS[self._codec].pack(bytes(self._block))
            self._data += block(self._block_rows, packed, self._schema.text, self._codec)
            self._block, self._block_rows = bytearray(), 0


@dataclass(frozen=True, slots=True)
class AvroBody:
    """An ended file that knows the bytes of each record: `lengths`."""

    data: pa.Buffer
    lengths: np.ndarray[Any, np.dtype[np.int64]]
    schema: AvroSchema
    codec: str

    @property
    def size_bytes(self) -> int:
        """Return the size of the file in bytes."""
        return int(self.data.size)

    def without_first(self, rows: int) -> AvroBody:
        """Return the file without its first rows; its blocks are cut anew."""
        encoder = AvroEncoder(self.codec)
        for array, schema in self.pieces():
            encoder.write(array.slice(rows), schema)
        return encoder.end()

    def pieces(self) -> Iterator[tuple[Any, AvroSchema]]:
        """Yield all records in one array, with their schema."""
        import pyarrow as pa

        ends = np.concatenate(([0], np.cumsum(self.lengths))).astype(np.int64)
        unpack, packed = CODECS[self.codec].unpack, packed_blocks(memoryview(self.data).cast("B"))
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(unpack(bytes(one)) for one in packed))]
        yield pa.Array.from_buffers(pa.large_binary(), len(self.lengths), buffers), self.schema


class AvroMerger:
    """Files of this sink with one schema and codec, whose blocks are ended alike. See `Merger`."""

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._data = bytearray()

    def add(self, data: bytes) -> bool:
        """Append the blocks of an object; False: it has another schema or codec."""
        end = header_size(memoryview(data))
        if self._head is None:
            self._head = data[:end]
            self._data += self._head
        elif self._head != data[:end]:
            return False
        self._data += memoryview(data)[end:]
        return True

    def end(self) -> bytearray:
        """Return the bytes of the merged file."""
        return self._data
