"""Parquet files, encoded and compressed as rows come. No file names, no offsets, no S3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import RejectedRowsError
from connect.api.records import Batch
from connectors.s3.blame import refusal
from connectors.s3.formats import Prepared, fit
from connectors.s3.inferred import empty_struct, empty_structs, large_ints, narrowed, new_doubles

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_BYTES: Final = 32 * 2**20
"""Arrow bytes of a row group: the most that an open file holds beside what is encoded."""
ROW_GROUP_ROWS: Final = 2**20
_EXTENSIONS: Final = {
    "none": ".parquet",
    "gzip": ".gz.parquet",
    "snappy": ".snappy.parquet",
    "lz4": ".lz4.parquet",
    "zstd": ".zstd.parquet",
}


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Structs become columns, any other value one column `value`."""

    codec: str

    @property
    def extension(self) -> str:
        """Confluent's extension: the codec is part of it."""
        return _EXTENSIONS[self.codec]

    @property
    def content_type(self) -> str:
        """Parquet's registered type."""
        return "application/vnd.apache.parquet"

    def prepare(self, batch: Batch) -> Prepared:
        """The batch's Arrow columns. A struct without fields is refused: as the type of all rows, or in one."""
        array = batch.values.arrow()
        is_inferred = batch.values.schema is None
        if is_inferred and (empty := empty_structs(batch)):
            raise RejectedRowsError(empty)
        rows = narrowed(batch.arrow()) if is_inferred else batch.arrow()
        for column in rows.schema:
            _check_writable(batch, column.type, column.name)
        valid = array.is_valid() if array.null_count else None
        return Prepared(rows, valid, rows.schema, is_inferred=is_inferred)

    def encoder(self) -> ParquetEncoder:
        """An empty Parquet file."""
        return ParquetEncoder(self.codec)


class ParquetEncoder:
    """One open Parquet file in memory. Owned by the task thread."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._schema: Any = None
        self._written_schema: Any = None
        self._large_ints: frozenset[str] = frozenset()
        self._waiting: list[Any] = []
        self._waiting_bytes = 0
        self._waiting_rows = 0
        self._sink: Any = None
        self._writer: Any = None

    @property
    def size_bytes(self) -> int:
        """Encoded bytes and Arrow bytes of the row group being filled."""
        return self._waiting_bytes + (self._sink.tell() if self._sink is not None else 0)

    def write(self, rows: pa.RecordBatch, schema: pa.Schema | None) -> None:
        """Append rows; whole row groups are encoded at once."""
        self._schema = schema
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        self._waiting_rows += rows.num_rows
        if self._waiting_bytes >= ROW_GROUP_BYTES or self._waiting_rows >= ROW_GROUP_ROWS:
            # Rows that are written are not looked at again, so what forbids to widen them is noted.
            self._large_ints |= frozenset().union(*map(large_ints, self._waiting))
            self._write_row_group()

    def can_become(self, schema: pa.Schema) -> bool:
        """Whole numbers become doubles only where each one stays the same; everything else that widens does."""
        changed = frozenset() if self._schema is None else new_doubles(self._schema, schema)
        if not changed:
            return True
        return not changed & self._large_ints and not any(changed & large_ints(batch) for batch in self._waiting)

    def end(self) -> ParquetBody:
        """Write the footer."""
        self._write_row_group()
        return ParquetBody(self._finish(), self._codec)

    def _write_row_group(self) -> None:
        import pyarrow as pa

        if self._writer is not None and not self._written_schema.equals(self._schema):
            self._rewrite()
        if self._writer is None:
            self._open()
        if self._waiting:
            table = pa.Table.from_batches([fit(batch, self._schema) for batch in self._waiting], self._schema)
            self._writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        self._waiting, self._waiting_bytes, self._waiting_rows = [], 0, 0

    def _open(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._sink = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(self._sink, self._schema, compression=self._codec.upper())
        self._written_schema = self._schema

    def _finish(self) -> pa.Buffer:
        self._writer.close()
        self._writer = None
        return self._sink.getvalue()

    def _rewrite(self) -> None:
        # A schemaless field appeared or got a type: rows written before are read back and widened, row group by row
        # group, so that where files end does not depend on what one batch happened to hold.
        import pyarrow.parquet as pq

        written = pq.ParquetFile(self._finish())
        self._open()
        for group in range(written.num_row_groups):
            for batch in written.read_row_group(group).to_batches():
                self._writer.write_batch(fit(batch, self._schema))


@dataclass(frozen=True, slots=True)
class ParquetBody:
    """An ended Parquet file."""

    data: pa.Buffer
    codec: str

    def without_first(self, rows: int) -> ParquetBody:
        """The rows behind the first ones, encoded anew."""
        import pyarrow.parquet as pq

        table = pq.read_table(_reader(self.data))
        encoder = ParquetEncoder(self.codec)
        for batch in table.slice(rows).to_batches():
            encoder.write(batch, table.schema)
        return encoder.end()


def _reader(data: pa.Buffer) -> Any:
    import pyarrow as pa

    return pa.BufferReader(data)


def _check_writable(batch: Batch, kind: pa.DataType, path: str) -> None:
    import pyarrow as pa

    if pa.types.is_struct(kind) and kind.num_fields == 0:
        raise refusal(batch, empty_struct(path))
    for i in range(kind.num_fields):
        _check_writable(batch, kind.field(i).type, f"{path}.{kind.field(i).name}")
