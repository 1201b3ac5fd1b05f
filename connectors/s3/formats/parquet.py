"""Writes Parquet files, which are encoded and compressed while rows come.

The module knows no file names, no offsets and no S3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connectors.s3.formats.file_format import Format, Prepared, fit, merged_schema, sparse_piece
from connectors.s3.formats.inferred import empty_struct, empty_structs, large_ints, narrowed, new_doubles, typed
from connectors.s3.paths.refused_field import refusal

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_BYTES: Final = 32 * 2**20
"""A row group is written when its rows have this many bytes in Arrow, which bounds the rows that are not encoded."""
ROW_GROUP_ROWS: Final = 2**20
_FEW_ROWS: Final = 4096
"""In files with at most this many rows numbers have no dictionary: most of them differ, and it costs time and space."""
_EXTENSIONS: Final = {
    "none": ".parquet",
    "gzip": ".gz.parquet",
    "snappy": ".snappy.parquet",
    "lz4": ".lz4.parquet",
    "zstd": ".zstd.parquet",
}


@dataclass(frozen=True, slots=True)
class ParquetFormat(Format):
    """Makes files with structs as columns, and with any other value as one column `value`."""

    codec: str

    @property
    def extension(self) -> str:
        """Return Confluent's extension, in which the codec is named."""
        return _EXTENSIONS[self.codec]

    @property
    def content_type(self) -> str:
        """Return the registered type of Parquet."""
        return "application/vnd.apache.parquet"

    def prepare(self, batch: Batch) -> Prepared:
        """Return the batch's Arrow columns.

        Structs without fields are refused, in the type of all rows or in one row.
        """
        array = batch.values.arrow()
        is_inferred = batch.values.schema is None
        if is_inferred and (empty := empty_structs(batch)):
            raise RejectedRowsError(empty)
        rows = narrowed(batch.arrow()) if is_inferred else batch.arrow()
        if not rows.schema.names:
            raise refusal(batch, empty_struct(""))
        for column in rows.schema:
            _check_writable(batch, column.type, column.name)
        valid = array.is_valid() if array.null_count else None
        return Prepared(rows, valid, rows.schema, is_inferred=is_inferred, is_sparse=is_inferred)

    def encoder(self) -> ParquetEncoder:
        """Return the encoder of an empty Parquet file."""
        return ParquetEncoder(self.codec)


class ParquetEncoder:
    """Encodes one open Parquet file, which it holds in memory. The task thread owns it."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._schema: Any = None
        self._written_schema: Any = None
        self._large_ints: frozenset[str] = frozenset()
        self._waiting: list[Any] = []
        self._counted = 0
        self._counted_bytes = 0
        self._waiting_rows = 0
        self._sink: Any = None
        self._writer: Any = None

    @property
    def size_bytes(self) -> int:
        """Return the encoded bytes and the Arrow bytes of the row group that is being filled."""
        return self._waiting_bytes() + (self._sink.tell() if self._sink is not None else 0)

    def write(self, rows: pa.RecordBatch, schema: pa.Schema | None) -> None:
        """Append rows. If the rows that wait are enough for a row group, they are encoded first."""
        if self._waiting_rows >= ROW_GROUP_ROWS or self._waiting_bytes() >= ROW_GROUP_BYTES:
            # Encoded rows are not looked at again, so the columns with large whole numbers, which cannot become
            # doubles, are noted.
            self._large_ints |= frozenset().union(*map(large_ints, self._waiting))
            self._write_row_group()
        self._schema = schema
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows

    def can_become(self, schema: pa.Schema) -> bool:
        """Return False if whole numbers would become doubles and one of them would change. All other changes are
        possible.
        """
        changed = frozenset() if self._schema is None else new_doubles(self._schema, schema)
        if not changed:
            return True
        return not changed & self._large_ints and not any(changed & large_ints(batch) for batch in self._waiting)

    def end(self) -> ParquetBody:
        """Write the footer and return the ended file."""
        self._write_row_group()
        return ParquetBody(self._finish(), self._codec)

    def _waiting_bytes(self) -> int:
        """Return the Arrow bytes of the rows that wait.

        As Arrow is slow to count them, each batch is counted once, and not at all if nobody asks before the file ends.
        """
        self._counted_bytes += sum(batch.nbytes for batch in self._waiting[self._counted :])
        self._counted = len(self._waiting)
        return self._counted_bytes

    def _write_row_group(self) -> None:
        import pyarrow as pa

        # Fields without a type are left out. A column of nulls would not fit to the same field in another file, where
        # it has a type.
        schema = typed(self._schema)
        if self._writer is not None and not self._written_schema.equals(schema):
            self._rewrite(schema)
        if self._writer is None:
            self._open(schema)
        if self._waiting:
            table = pa.Table.from_batches([fit(batch, schema) for batch in self._waiting], schema)
            self._writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        self._waiting, self._waiting_rows = [], 0
        self._counted, self._counted_bytes = 0, 0

    def _open(self, schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._sink = pa.BufferOutputStream()
        dictionaries = True if self._waiting_rows > _FEW_ROWS else _with_dictionaries(schema)
        self._writer = pq.ParquetWriter(
            self._sink, schema, compression=self._codec.upper(), use_dictionary=dictionaries
        )
        self._written_schema = schema

    def _finish(self) -> pa.Buffer:
        self._writer.close()
        self._writer = None
        return self._sink.getvalue()

    def _rewrite(self, schema: pa.Schema) -> None:
        # A new field appeared in rows without a schema, or a field got a type. The rows written before are read and
        # widened, row group by row group. So the end of a file does not depend on the rows of one batch.
        import pyarrow.parquet as pq

        written = pq.ParquetFile(self._finish())
        self._open(schema)
        for group in range(written.num_row_groups):
            for batch in written.read_row_group(group).to_batches():
                self._writer.write_batch(fit(batch, schema))


class ParquetMerger:
    """Joins files of one schema, in row groups as large as the sink makes them. See `Merger`."""

    def __init__(self, codec: str) -> None:
        self._encoder = ParquetEncoder(codec)
        self._schema: Any = None

    def add(self, data: bytes) -> bool:
        """Append the rows of an object. Return False if it has another schema."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(_reader(data))
        schema = file.schema_arrow
        if self._schema is not None and not self._schema.equals(schema):
            return False
        self._schema = schema
        for batch in file.iter_batches(ROW_GROUP_ROWS):
            self._encoder.write(batch, schema)
        return True

    def end(self) -> pa.Buffer:
        """Return the bytes of the merged file."""
        return self._encoder.end().data


@dataclass(frozen=True, slots=True)
class ParquetBody:
    """Holds a Parquet file that has ended. With `is_sparse` fields without a type are left out once it is cut."""

    data: pa.Buffer
    codec: str
    is_sparse: bool = False

    @property
    def size_bytes(self) -> int:
        """Return the size of the file in bytes."""
        return int(self.data.size)

    def without_first(self, rows: int) -> ParquetBody:
        """Return the file without its first rows, encoded anew."""
        encoder, schema = ParquetEncoder(self.codec), None
        for batch, own in self.pieces():
            part = batch.slice(rows)
            kept, kept_schema = sparse_piece(part, own) if self.is_sparse else (part, own)
            schema = merged_schema(schema, kept_schema, may_widen=True)
            encoder.write(kept, schema)
            rows = max(0, rows - len(batch))
        return replace(encoder.end(), is_sparse=self.is_sparse)

    def sparse(self) -> ParquetBody:
        """Return the same file, which leaves out fields without a type once rows are cut off."""
        return replace(self, is_sparse=True)

    def pieces(self) -> Iterator[tuple[pa.RecordBatch, pa.Schema]]:
        """Yield the batches of the file, with its schema."""
        import pyarrow.parquet as pq

        table = pq.read_table(_reader(self.data))
        for batch in table.to_batches():
            yield batch, table.schema


def _with_dictionaries(schema: pa.Schema) -> list[str] | bool:
    """Return the columns that get dictionaries: those whose type is not primitive, or True for all columns.

    If any column is nested, all columns get dictionaries, as this list cannot name the columns inside.
    """
    import pyarrow.types as t

    if any(t.is_nested(field.type) for field in schema):
        return True
    return [field.name for field in schema if not t.is_primitive(field.type)]


def _reader(data: pa.Buffer | bytes) -> Any:
    import pyarrow as pa

    return pa.BufferReader(data)


def _check_writable(batch: Batch, kind: pa.DataType, path: str) -> None:
    import pyarrow as pa

    if pa.types.is_struct(kind) and kind.num_fields == 0:
        raise refusal(batch, empty_struct(path))
    if pa.types.is_decimal(kind) and kind.scale < 0:
        raise refusal(batch, SchemaError(f"Parquet has no decimals of scale {kind.scale}, below zero.", field=path))
    for i in range(kind.num_fields):
        _check_writable(batch, kind.field(i).type, f"{path}.{kind.field(i).name}")
