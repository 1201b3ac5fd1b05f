"""Reads the rows of objects for trials by other code than the sink's writers, which would not find their own errors."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping

from connect.api.errors import ConnectError
from connectors.s3.formats.compression import Compression

Reader = Callable[[bytes], Iterator[bytes]]


def text_reader(compression: Compression, separator: bytes) -> Reader:
    """Return a function that splits a file at the separator. ConnectError: the separator is empty."""
    if not separator:
        raise ConnectError("Values without a separator cannot be told apart.", key="format.bytearray.separator")
    return lambda data: iter(_text(data, compression).split(separator)[:-1])


def array_reader(compression: Compression) -> Reader:
    """Return a function that reads the elements of a JSON array."""

    def rows(data: bytes) -> Iterator[bytes]:
        import orjson

        yield from (orjson.dumps(row) for row in orjson.loads(_text(data, compression)))

    return rows


def csv_reader(compression: Compression) -> Reader:
    """Return a function that reads the lines after the column names."""

    def rows(data: bytes) -> Iterator[bytes]:
        lines = csv.reader(io.StringIO(_text(data, compression).decode(), newline=""))
        next(lines, None)
        yield from (repr(line).encode() for line in lines)

    return rows


def parquet_rows(data: bytes) -> Iterator[bytes]:
    """Yield the rows of a Parquet file."""
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(io.BytesIO(data)).iter_batches():
        yield from (repr(row).encode() for row in batch.to_pylist())


def parquet_types(data: bytes) -> Mapping[str, str]:
    """Return the types of a Parquet file's columns by name."""
    import pyarrow.parquet as pq

    return {field.name: str(field.type) for field in pq.read_schema(io.BytesIO(data))}


def avro_rows(data: bytes) -> Iterator[bytes]:
    """Yield the records of an Avro file."""
    import fastavro

    yield from (repr(row).encode() for row in fastavro.reader(io.BytesIO(data)))


def _text(data: bytes, compression: Compression) -> bytes:
    """Return the text of an object."""
    import pyarrow as pa

    return compression.unpacked(pa.py_buffer(data))
