"""Avro object container files: blocks of records, each compressed, behind a header with the schema. No names, no S3.

Layout after "Object Container Files" of the Avro 1.12 specification.
"""

from __future__ import annotations

import bz2
import hashlib
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from connect.api.codec import AvroValues
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.api.schema import Schema
from connectors.s3.compression import unpacked_snappy_block
from connectors.s3.formats import Prepared, StoredObject

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES: Final = 64_000
"""Uncompressed bytes of a block, as Java's DataFileWriter cuts them (DEFAULT_SYNC_INTERVAL is 4,000 rows of 16)."""
_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_RAW_DEFLATE: Final = -15


class Codec(NamedTuple):
    """How the blocks of a file are compressed."""

    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


def _pack_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(-1, zlib.DEFLATED, _RAW_DEFLATE)
    return packer.compress(data) + packer.flush()


def _pack_snappy(data: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.Codec("snappy").compress(data, asbytes=True)
    return packed + struct.pack(">I", zlib.crc32(data))


def _unpack_snappy(data: bytes) -> bytes:
    return unpacked_snappy_block(data[:-4])


def _pack_zstd(data: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


def _unpack_zstd(data: bytes) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        unpacked: bytes = stream.read()
    return unpacked


CODECS: Final[Mapping[str, Codec]] = {
    "null": Codec(bytes, bytes),
    "deflate": Codec(_pack_deflate, lambda data: zlib.decompress(data, _RAW_DEFLATE)),
    "snappy": Codec(_pack_snappy, _unpack_snappy),
    "bzip2": Codec(bz2.compress, bz2.decompress),
    "xz": Codec(lzma.compress, lzma.decompress),
    "zstandard": Codec(_pack_zstd, _unpack_zstd),
}
"""By the names of avro.codec."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """The schema that a file is written with."""

    text: str

    def equals(self, other: AvroSchema) -> bool:
        """Files hold records of one schema."""
        return self.text == other.text

    def merged(self, new: AvroSchema) -> AvroSchema:
        """None holds the rows of two."""
        raise SchemaError("The schema changed." if new.text else "The schema is gone.")


@dataclass(slots=True)
class AvroFormat:
    """Records of one schema per file. `values`: how those of a schema are written."""

    codec: str
    values: Callable[[Schema], AvroValues]
    _known: dict[Schema, AvroValues] = field(default_factory=dict)

    @property
    def extension(self) -> str:
        """Confluent's: the codec is no part of it."""
        return ".avro"

    @property
    def content_type(self) -> str:
        """The media type that Avro's files go by."""
        return "application/avro"

    def prepare(self, batch: Batch) -> Prepared:
        """One encoded record per row. Values without a schema are refused."""
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
        """An empty file."""
        return AvroEncoder(self.codec)

    def objects(self, body: AvroBody) -> Sequence[StoredObject]:
        """One."""
        return (StoredObject(self.extension, self.content_type, body.data),)


def refuse_schemaless(topic: str, array: pa.Array) -> None:
    """RejectedRowsError for the values that are there."""
    import pyarrow.compute as pc

    rows = pc.indices_nonzero(array.is_valid()).to_pylist()
    if rows:
        error = SchemaError(
            f"AvroFormat writes values with a schema, and those of topic {topic} have none.",
            fix="Use a value.converter with schemas, or JsonFormat.",
        )
        raise RejectedRowsError(dict.fromkeys(rows, error))


class AvroEncoder:
    """One open file in memory. Owned by the task thread."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._schema: Any = None
        self._data = bytearray()
        self._block = bytearray()
        self._block_rows = 0
        self._lengths: list[Any] = []

    @property
    def size_bytes(self) -> int:
        """Encoded bytes, and those of the block that is being filled."""
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
        """A file has one schema, which never widens."""
        return bool(self._schema is None or self._schema.equals(schema))

    def end(self) -> AvroBody:
        """End the last block."""
        import pyarrow as pa

        self._end_block()
        return AvroBody(pa.py_buffer(self._data), np.concatenate(self._lengths), self._schema, self._codec)

    def _end_block(self) -> None:
        if self._block_rows:
            packed = CODECS[self._codec].pack(bytes(self._block))
            self._data += _long(self._block_rows) + _long(len(packed)) + packed + _sync(self._schema.text, self._codec)
            self._block, self._block_rows = bytearray(), 0


@dataclass(frozen=True, slots=True)
class AvroBody:
    """An ended file. lengths: bytes of each record."""

    data: pa.Buffer
    lengths: np.ndarray[Any, np.dtype[np.int64]]
    schema: AvroSchema
    codec: str

    @property
    def size_bytes(self) -> int:
        """The file's."""
        return int(self.data.size)

    def without_first(self, rows: int) -> AvroBody:
        """The records behind the first ones, in blocks anew."""
        encoder = AvroEncoder(self.codec)
        for array, schema in self.pieces():
            encoder.write(array.slice(rows), schema)
        return encoder.end()

    def pieces(self) -> Iterator[tuple[Any, AvroSchema]]:
        """All records at once."""
        import pyarrow as pa

        ends = np.concatenate(([0], np.cumsum(self.lengths))).astype(np.int64)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(self._blocks()))]
        yield pa.Array.from_buffers(pa.large_binary(), len(self.lengths), buffers), self.schema

    def _blocks(self) -> Iterator[bytes]:
        data = memoryview(self.data).cast("B")
        at = len(header(self.schema.text, self.codec))
        while at < len(data):
            _, at = _read_long(data, at)
            size, at = _read_long(data, at)
            yield CODECS[self.codec].unpack(bytes(data[at : at + size]))
            at += size + _SYNC_BYTES


class AvroMerger:
    """Files of this sink with one schema and codec, whose blocks are ended alike. See `Merger`."""

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._data = bytearray()

    def add(self, data: bytes) -> bool:
        """Append the blocks of an object; False: it has another schema or codec."""
        end = _header_end(memoryview(data))
        if self._head is None:
            self._head = data[:end]
            self._data += self._head
        elif self._head != data[:end]:
            return False
        self._data += memoryview(data)[end:]
        return True

    def end(self) -> bytearray:
        """The file."""
        return self._data


def _header_end(data: memoryview) -> int:
    """Behind the marker of a file that `header` began."""
    members, at = _read_long(data, len(_MAGIC))
    for _ in range(2 * members):
        size, at = _read_long(data, at)
        at += size
    return at + 1 + _SYNC_BYTES


def header(schema_text: str, codec: str) -> bytes:
    """What a file begins with."""
    members = {"avro.schema": schema_text.encode(), "avro.codec": codec.encode()}
    texts = b"".join(_long(len(k)) + k.encode() + _long(len(v)) + v for k, v in members.items())
    return _MAGIC + _long(len(members)) + texts + _long(0) + _sync(schema_text, codec)


def _sync(schema_text: str, codec: str) -> bytes:
    """The marker between blocks: made of what the file is, so that equal rows give equal bytes."""
    return hashlib.blake2b(f"{codec}\n{schema_text}".encode(), digest_size=_SYNC_BYTES).digest()


def _long(number: int) -> bytes:
    """A whole number from 0 in Avro's form."""
    folded, made = number << 1, bytearray()
    while folded > 0x7F:
        made.append(folded & 0x7F | 0x80)
        folded >>= 7
    made.append(folded)
    return bytes(made)


def _read_long(data: memoryview, at: int) -> tuple[int, int]:
    folded = shift = 0
    while True:
        byte = data[at]
        folded |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return folded >> 1, at
