"""Makes Avro's object container files of records, each with one schema. The module knows no file names and no S3."""

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
"""A block has about this many uncompressed bytes, as in Java's DataFileWriter (DEFAULT_SYNC_INTERVAL, 4,000 * 16)."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """Holds the text of the schema with which a file is written."""

    text: str

    def equals(self, other: AvroSchema) -> bool:
        """Return True if both schemas have the same text: a file holds records of one schema only."""
        return self.text == other.text

    def merged(self, new: AvroSchema) -> AvroSchema:
        """Raise SchemaError, as no Avro file holds rows of two schemas."""
        raise SchemaError("The schema changed." if new.text else "The schema is gone.")


@dataclass(slots=True)
class AvroFormat(Format):
    """Makes Avro files, each with records of one schema.

    `values` returns the encoder for values of a schema.
    """

    codec: str
    values: Callable[[Schema], AvroValues]
    _known: dict[Schema, AvroValues] = field(default_factory=dict)

    @property
    def extension(self) -> str:
        """Return Confluent's extension, in which the codec is not named."""
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
    """Encodes one open file, which it holds in memory. The task thread owns it."""

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
    """Holds an ended file, and in `lengths` the bytes of each record."""

    data: pa.Buffer
    lengths: np.ndarray[Any, np.dtype[np.int64]]
    schema: AvroSchema
    codec: str

    @property
    def size_bytes(self) -> int:
        """Return the size of the file in bytes."""
        return int(self.data.size)

    def sparse(self) -> AvroBody:
        """Return this file: values that have a schema keep all fields."""
        return self

    def without_first(self, rows: int) -> AvroBody:
        """Return the file without its first rows, with new blocks."""
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
    """Joins files of this sink that have one schema and codec, and so the same marker between blocks. See `Merger`."""

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._data = bytearray()

    def add(self, data: bytes) -> bool:
        """Append the blocks of an object. Return False if it has another schema or codec."""
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
