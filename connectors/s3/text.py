"""Files that are one value after another with a separator: JSON lines and raw bytes. No names, no S3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.s3.blame import refusal
from connectors.s3.compression import Compression, Packer
from connectors.s3.formats import Prepared
from connectors.s3.json_lines import json_lines

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """One JSON text per line, as Confluent's JsonFormat writes it (JsonConverter without schemas)."""

    compression: Compression
    numeric_decimals: bool = False

    @property
    def extension(self) -> str:
        """.json, and what the compression adds."""
        return f".json{self.compression.extension}"

    @property
    def content_type(self) -> str:
        """Newline-delimited JSON."""
        return self.compression.content_type or "application/x-ndjson"

    def prepare(self, batch: Batch) -> Prepared:
        """One line per row."""
        return _prepared(json_lines(batch.values, numeric_decimals=self.numeric_decimals))

    def encoder(self) -> TextEncoder:
        """An empty file."""
        return TextEncoder(b"\n", self.compression)


@dataclass(frozen=True, slots=True)
class BytesFormat:
    """Values of bytes or text as they are, each with the separator behind it."""

    file_extension: str
    separator: bytes
    compression: Compression

    @property
    def extension(self) -> str:
        """As configured, and what the compression adds."""
        return self.file_extension + self.compression.extension

    @property
    def content_type(self) -> str:
        """Bytes of a kind that only their writer knows."""
        return self.compression.content_type or "application/octet-stream"

    def prepare(self, batch: Batch) -> Prepared:
        """The values as bytes; any other type is refused."""
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
        """An empty file."""
        return TextEncoder(self.separator, self.compression)


def _prepared(array: pa.Array) -> Prepared:
    return Prepared(array, array.is_valid() if array.null_count else None)


class TextEncoder:
    """One open file in memory. Owned by the task thread."""

    def __init__(self, separator: bytes, compression: Compression) -> None:
        self._separator = separator
        self._compression = compression
        # Where it grows it is moved by the kernel, not copied: at no time are there two of it.
        self._data = bytearray()
        self._packer: Packer | None = None
        self._lengths: list[Any] = []

    @property
    def size_bytes(self) -> int:
        """Encoded bytes, and what compression holds."""
        return len(self._data) + (0 if self._packer is None else self._packer.size_bytes)

    def write(self, rows: pa.Array, schema: pa.Schema | None) -> None:  # noqa: ARG002 - text has no schema
        """Append values, which are bytes without nulls."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = pa.large_binary()
        joined = pc.binary_join_element_wise(rows, pa.scalar(self._separator, kind), pa.scalar(b"", kind))
        self._lengths.append(pc.binary_length(joined).cast(pa.int64()))
        _, offsets, data = joined.buffers()
        ends = memoryview(offsets).cast("q")
        first, last = ends[joined.offset], ends[joined.offset + len(joined)]
        text = memoryview(data)[first:last] if data is not None else b""
        if self._packer is None:
            # Not before: a thousand open files that have no row encoded must not hold a thousand compressors.
            self._packer = self._compression.packer()
        self._data += self._packer.pack(text)

    def can_become(self, schema: pa.Schema) -> bool:  # noqa: ARG002 - text has no schema
        """Always."""
        return True

    def end(self) -> TextBody:
        """Finish the compression."""
        import pyarrow as pa

        if self._packer is not None:
            self._data += self._packer.end()
            self._packer = None
        return TextBody(pa.py_buffer(self._data), pa.chunked_array(self._lengths, pa.int64()), self._compression)


@dataclass(frozen=True, slots=True)
class TextBody:
    """An ended file. lengths: uncompressed bytes per row, its separator included."""

    data: pa.Buffer
    lengths: pa.ChunkedArray
    compression: Compression

    def without_first(self, rows: int) -> TextBody:
        """The bytes behind the first rows, compressed anew."""
        import pyarrow as pa
        import pyarrow.compute as pc

        skipped = pc.sum(self.lengths.slice(0, rows)).as_py() or 0
        rest = self.lengths.slice(rows)
        if not self.compression.is_on:
            return TextBody(self.data.slice(skipped), rest, self.compression)
        packer = self.compression.packer()
        text = self.compression.unpacked(self.data)[skipped:]
        return TextBody(pa.py_buffer(packer.pack(text) + packer.end()), rest, self.compression)
