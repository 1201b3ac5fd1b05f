"""Writes files in which one value follows another: JSON lines, JSON arrays and raw bytes.

The module knows no file names and no S3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.s3.formats.compression import Compression, Packer
from connectors.s3.formats.file_format import Format, Prepared
from connectors.s3.formats.json_lines import json_lines
from connectors.s3.paths.refused_field import refusal

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Frame:
    """Holds the bytes around the values of a file: `head` and `tail`, `between` two values, and `behind` each value."""

    head: bytes = b""
    between: bytes = b""
    behind: bytes = b"\n"
    tail: bytes = b""


LINES = Frame()
ARRAY = Frame(b"[\n", b",\n", b"", b"\n]")
"""This frame makes one JSON array of all values, with a line per record, as Aiven's sinks do."""


@dataclass(frozen=True, slots=True)
class JsonFormat(Format):
    """Writes one JSON text per line, as Confluent's JsonFormat does (JsonConverter without schemas)."""

    compression: Compression
    numeric_decimals: bool = False

    @property
    def extension(self) -> str:
        """Return .json and the extension of the compression."""
        return f".json{self.compression.extension}"

    @property
    def content_type(self) -> str:
        """Return the compression's media type, or else that of newline-delimited JSON."""
        return self.compression.content_type or "application/x-ndjson"

    def prepare(self, batch: Batch) -> Prepared:
        """Return one line per row."""
        return _prepared(json_lines(batch.values, numeric_decimals=self.numeric_decimals))

    def encoder(self) -> TextEncoder:
        """Return the encoder of an empty file."""
        return TextEncoder(LINES, self.compression)


@dataclass(frozen=True, slots=True)
class JsonArrayFormat(Format):
    """Writes one JSON array, whose elements are the texts that JsonFormat writes as lines."""

    lines: JsonFormat

    @property
    def extension(self) -> str:
        """Return the extension of JSON lines."""
        return self.lines.extension

    @property
    def content_type(self) -> str:
        """Return the compression's media type, or else the registered type of JSON."""
        return self.lines.compression.content_type or "application/json"

    def prepare(self, batch: Batch) -> Prepared:
        """Return one element per row."""
        return self.lines.prepare(batch)

    def encoder(self) -> TextEncoder:
        """Return the encoder of an empty file."""
        return TextEncoder(ARRAY, self.lines.compression)


@dataclass(frozen=True, slots=True)
class BytesFormat(Format):
    """Keeps bytes and texts unchanged, and adds the separator after each of them."""

    file_extension: str
    separator: bytes
    compression: Compression

    @property
    def extension(self) -> str:
        """Return the configured extension and the extension of the compression."""
        return self.file_extension + self.compression.extension

    @property
    def content_type(self) -> str:
        """Return the compression's media type, or else that of bytes of an unknown kind."""
        return self.compression.content_type or "application/octet-stream"

    def prepare(self, batch: Batch) -> Prepared:
        """Return the values as bytes; any other type is refused."""
        import pyarrow as pa
        import pyarrow.types as t

        array = batch.values.arrow()
        kinds = (t.is_binary, t.is_large_binary, t.is_binary_view, t.is_string, t.is_large_string, t.is_string_view)
        if not (t.is_null(array.type) or any(test(array.type) for test in kinds)):
            unfit = SchemaError(
                f"ByteArrayFormat cannot write values of Arrow type {array.type} of topic {batch.topic}.",
                fix="Set value.converter to org.apache.kafka.connect.converters.ByteArrayConverter.",
            )
            raise refusal(batch, unfit)
        return _prepared(array.cast(pa.large_binary()))

    def encoder(self) -> TextEncoder:
        """Return the encoder of an empty file."""
        return TextEncoder(Frame(behind=self.separator), self.compression)


def _prepared(array: pa.Array) -> Prepared:
    return Prepared(array, array.is_valid() if array.null_count else None)


class TextEncoder:
    """Encodes one open file, which it holds in memory. The task thread owns it."""

    def __init__(self, frame: Frame, compression: Compression) -> None:
        self._frame = frame
        self._compression = compression
        # When this buffer grows, the kernel moves it and does not copy it, so that there are never two of it.
        self._data = bytearray()
        self._packer: Packer | None = None
        self._lengths: list[Any] = []

    @property
    def size_bytes(self) -> int:
        """Return the encoded bytes and the bytes that the compression holds."""
        return len(self._data) + (0 if self._packer is None else self._packer.size_bytes)

    def write(self, rows: pa.Array, schema: pa.Schema | None) -> None:  # noqa: ARG002 - text has no schema
        """Append values, which are bytes without nulls."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(rows):
            return
        between, behind, nothing = (
            pa.scalar(text, pa.large_binary()) for text in (self._frame.between, self._frame.behind, b"")
        )
        around = (between, rows, behind) if self._frame.between else (rows, behind)
        joined = pc.binary_join_element_wise(*around, nothing)
        self._lengths.append(pc.binary_length(joined).cast(pa.int64()))
        _, offsets, data = joined.buffers()
        ends = memoryview(offsets).cast("q")
        first, last = ends[joined.offset], ends[joined.offset + len(joined)]
        if self._packer is None:
            # The compressor is made only now: a thousand open files without an encoded row must not hold a thousand
            # compressors.
            self._packer = self._compression.packer()
            self._data += self._packer.pack(self._frame.head)
            first += len(self._frame.between)
        self._data += self._packer.pack(memoryview(data)[first:last] if data is not None else b"")

    def can_become(self, schema: pa.Schema) -> bool:  # noqa: ARG002 - text has no schema
        """Return True always, as text has no schema."""
        return True

    def end(self) -> TextBody:
        """Finish the compression and return the ended file."""
        import pyarrow as pa

        if self._packer is not None:
            self._data += self._packer.pack(self._frame.tail)
            self._data += self._packer.end()
            self._packer = None
        lengths = pa.chunked_array(self._lengths, pa.int64())
        return TextBody(pa.py_buffer(self._data), lengths, self._frame, self._compression)


class TextMerger:
    """Joins text files, which have no schema. See `Merger`."""

    def __init__(self, frame: Frame, compression: Compression) -> None:
        self._frame = frame
        self._compression = compression
        self._packer = compression.packer()
        self._data = bytearray(self._packer.pack(frame.head))
        self._is_empty = True

    def add(self, data: bytes) -> bool:
        """Append the values of an object."""
        text = self._compression.unpacked(data)
        values = text[len(self._frame.head) : len(text) - len(self._frame.tail)]
        self._data += self._packer.pack(values if self._is_empty else self._frame.between + values)
        self._is_empty = False
        return True

    def end(self) -> bytearray:
        """Return the bytes of the merged file."""
        self._data += self._packer.pack(self._frame.tail)
        self._data += self._packer.end()
        return self._data


@dataclass(frozen=True, slots=True)
class TextBody:
    """Holds an ended file and the length of each row.

    `lengths` are the uncompressed bytes per row, with the bytes between and behind values.
    """

    data: pa.Buffer
    lengths: pa.ChunkedArray
    frame: Frame
    compression: Compression

    @property
    def size_bytes(self) -> int:
        """Return the size of the file in bytes."""
        return int(self.data.size)

    def pieces(self) -> Iterator[tuple[pa.Array, None]]:
        """Yield all values in one array, without a schema."""
        import pyarrow as pa
        import pyarrow.compute as pc

        frame = self.frame
        text = frame.between + self.compression.unpacked(self.data)[len(frame.head) :]
        ends = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(self.lengths).combine_chunks()])
        buffers = [None, ends.buffers()[1], pa.py_buffer(text)]
        framed = pa.Array.from_buffers(pa.large_binary(), len(self.lengths), buffers)
        yield pc.binary_slice(framed, len(frame.between), -len(frame.behind) if frame.behind else None), None

    def sparse(self) -> TextBody:
        """Return this file: lines have no schema."""
        return self

    def without_first(self, rows: int) -> TextBody:
        """Return the file without its first rows, compressed anew."""
        import pyarrow as pa
        import pyarrow.compute as pc

        skipped = pc.sum(self.lengths.slice(0, rows)).as_py() or 0
        rest = self.lengths.slice(rows)
        if not self.compression.is_on and not self.frame.head:
            return TextBody(self.data.slice(skipped), rest, self.frame, self.compression)
        packer = self.compression.packer()
        text = self.frame.head + self.compression.unpacked(self.data)[len(self.frame.head) + skipped :]
        data = pa.py_buffer(bytes(packer.pack(text)) + packer.end())
        return TextBody(data, rest, self.frame, self.compression)
