"""Makes CSV files: a line of column names, then a line per record (RFC 4180).

The module knows no file names, no offsets and no S3. A null becomes an empty cell, an empty text becomes "". Times are
ISO 8601, bytes are base64, nested values are JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from connect.api.records import Batch, Column
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.file_format import Format, Prepared, joined, sparse_piece
from connectors.s3.formats.inferred import empty_struct, typed
from connectors.s3.formats.iso_times import iso_texts
from connectors.s3.formats.json_lines import json_lines
from connectors.s3.paths.refused_field import refusal

if TYPE_CHECKING:
    import pyarrow as pa

_NEEDS_QUOTES: Final = '[",\n\r]|^$|^ | $'


@dataclass(frozen=True, slots=True)
class CsvFormat(Format):
    """Makes files with structs as columns, and with any other value as one column `value`."""

    compression: Compression

    @property
    def extension(self) -> str:
        """Return .csv and the extension of the compression."""
        return f".csv{self.compression.extension}"

    @property
    def content_type(self) -> str:
        """Return the compression's media type, or else the registered type of CSV."""
        return self.compression.content_type or "text/csv"

    def prepare(self, batch: Batch) -> Prepared:
        """Return each column as text, in quotes where CSV needs them.

        Values that are structs without fields are refused, as they have neither a column nor a line.
        """
        import pyarrow as pa

        array = batch.values.arrow()
        table = batch.arrow()
        if not table.schema.names:
            raise refusal(batch, empty_struct("", "CSV"))
        columns = [_cells(column) for column in table.columns]
        schema = pa.schema([pa.field(name, pa.large_string()) for name in table.schema.names])
        rows = pa.record_batch(columns, schema=schema)
        valid = array.is_valid() if array.null_count else None
        is_inferred = batch.values.schema is None
        return Prepared(rows, valid, schema, is_inferred=is_inferred, is_sparse=is_inferred)

    def encoder(self) -> CsvEncoder:
        """Return the encoder of an empty file."""
        return CsvEncoder(self.compression)


class CsvEncoder:
    """Keeps the cells of one open file until its end, as a new column changes the first line.

    The task thread owns it.
    """

    def __init__(self, compression: Compression) -> None:
        self._compression = compression
        self._parts: list[Any] = []
        self._schema: Any = None
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Return the bytes that the cells take."""
        return self._size_bytes

    def write(self, rows: pa.RecordBatch, schema: pa.Schema) -> None:
        """Append rows."""
        self._parts.append(rows)
        self._schema = schema
        self._size_bytes += rows.nbytes

    def can_become(self, schema: pa.Schema) -> bool:  # noqa: ARG002 - text stays text
        """Return True always: a cell of a new column is null in older rows."""
        return True

    def end(self) -> CsvBody:
        """Write the cells as lines, and return the ended file."""
        return CsvBody.of(joined(self._parts, typed(self._schema)), self._compression)


@dataclass(frozen=True, slots=True)
class CsvBody:
    """Holds an ended file and its cells. With `is_sparse` a column without a cell is left out once rows are cut off."""

    data: pa.Buffer
    cells: pa.RecordBatch
    compression: Compression
    is_sparse: bool = False

    @classmethod
    def of(cls, cells: pa.RecordBatch, compression: Compression) -> CsvBody:
        """Return the file that holds these cells."""
        import pyarrow as pa
        import pyarrow.compute as pc

        head = ",".join(_in_quotes(pa.array(cells.schema.names, pa.large_string())).to_pylist())
        # A column of nulls alone may have no type.
        columns = [column.cast(pa.large_string()).fill_null("") for column in cells.columns]
        lines = pc.binary_join_element_wise(*columns, pa.scalar(",", pa.large_string()))
        ended = pc.binary_join_element_wise(lines, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string()))
        packer = compression.packer()
        text = f"{head}\n".encode() + _bytes_of(ended)
        return cls(pa.py_buffer(bytes(packer.pack(text)) + packer.end()), cells, compression)

    @property
    def size_bytes(self) -> int:
        """Return the size of the file in bytes."""
        return int(self.data.size)

    def pieces(self) -> Iterator[tuple[pa.RecordBatch, pa.Schema]]:
        """Yield all cells in one record batch, with their schema."""
        yield self.cells, self.cells.schema

    def without_first(self, rows: int) -> CsvBody:
        """Return the file without its first rows."""
        if not self.is_sparse:
            return CsvBody.of(self.cells.slice(rows), self.compression)
        cells, schema = sparse_piece(self.cells.slice(rows), self.cells.schema)
        return CsvBody.of(joined([cells], typed(schema)), self.compression).sparse()

    def sparse(self) -> CsvBody:
        """Return the same file, which leaves out columns without a cell once rows are cut off."""
        return replace(self, is_sparse=True)


class CsvMerger:
    """Joins files that have the same first line. See `Merger`."""

    def __init__(self, compression: Compression) -> None:
        self._compression = compression
        self._packer = compression.packer()
        self._head: bytes | None = None
        self._data = bytearray()

    def add(self, data: bytes) -> bool:
        """Append the lines of an object. Return False if it has other columns."""
        text = self._compression.unpacked(data)
        end = _first_line_end(text)
        if self._head is None:
            self._head = text[:end]
            self._data += self._packer.pack(self._head)
        elif self._head != text[:end]:
            return False
        self._data += self._packer.pack(text[end:])
        return True

    def end(self) -> bytearray:
        """Return the bytes of the merged file."""
        self._data += self._packer.end()
        return self._data


def _first_line_end(text: bytes) -> int:
    """Return the position after the line of column names. Names in quotes may contain line breaks."""
    end = text.index(b"\n") + 1
    while text.count(b'"', 0, end) % 2:
        end = text.index(b"\n", end) + 1
    return end


def _bytes_of(texts: pa.LargeStringArray) -> bytes:
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("q")
    return bytes(memoryview(data)[ends[texts.offset] : ends[texts.offset + len(texts)]]) if data is not None else b""


def _in_quotes(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    doubled = pc.replace_substring(texts, '"', '""')
    quote, nothing = (pa.scalar(text, pa.large_string()) for text in ('"', ""))
    quoted = pc.binary_join_element_wise(quote, doubled, quote, nothing)
    return pc.if_else(pc.match_substring_regex(texts, _NEEDS_QUOTES), quoted, texts)


def _cells(column: pa.Array) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    if t.is_timestamp(kind):
        return iso_texts(column)
    if t.is_nested(kind) or t.is_binary(kind) or t.is_large_binary(kind):
        return _json_cells(column)
    if t.is_null(kind):
        return pa.nulls(len(column), pa.large_string())
    text = column.cast(pa.large_string())
    return _in_quotes(text) if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind) else text


def _json_cells(column: pa.Array) -> pa.LargeStringArray:
    import pyarrow as pa

    texts = json_lines(Column.from_arrow(column), numeric_decimals=True).cast(pa.large_string())
    if pa.types.is_nested(column.type):
        return _in_quotes(texts)
    import pyarrow.compute as pc

    return pc.utf8_trim(texts, characters='"')
