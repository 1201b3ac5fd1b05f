"""Objects of a trial's own, below the folder that the sink is set to; their rows read back with none of its writers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Final

from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline
from connectors.s3.formats.compression import Compression
from connectors.s3.settings.classes import (
    AVRO_FORMAT,
    BYTES_FORMAT,
    CSV_FORMAT,
    FOLDER_STORAGES,
    JSON_ARRAY_FORMAT,
    PARQUET_FORMAT,
)
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.stores.clients import open_store
from connectors.s3.stores.store import Bucket

_BESIDE: Final = re.compile(r"\.(keys|headers)\.[a-z.]+$")
"""This matches the keys of objects stored beside values, which have no rows of their own."""
Reader = Callable[[bytes], Iterator[bytes]]


class TrialObjects:
    """`<topics.dir>/_<name>`: readers of tables pass over folders whose name begins so."""

    merges = False

    def __init__(self, config: S3SinkConfig, name: str) -> None:
        self._config = config
        self._folder = config.directory_delim.join(part for part in (config.topics_dir, f"_{name}") if part)

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings that send objects to the trial's folder."""
        return {"topics.dir": self._folder}

    @property
    def is_once(self) -> bool:
        """As long as an object is never written over, and the time of writing does not choose its folder."""
        config = self._config
        by_clock = config.is_time_partitioned and config.timestamp_extractor == "Wallclock"
        return config.conditional_writes and not by_clock

    def make(self, deadline: Deadline) -> None:
        """A bucket has no folders to make."""

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield the rows of all objects of values."""
        read = _reader(self._config)
        with closing(Bucket(self._config)) as bucket:
            for key in (key for key in self._keys(bucket, deadline) if not _BESIDE.search(key)):
                yield from read(bucket.content(key, deadline) or b"")

    def column_types(self, deadline: Deadline) -> Mapping[str, str]:
        """As the newest Parquet file of each topic tells them; other files name no types."""
        import pyarrow.parquet as pq

        found: dict[str, str] = {}
        if self._config.format_class == PARQUET_FORMAT:
            with closing(Bucket(self._config)) as bucket:
                for key in (key for key in self._keys(bucket, deadline) if not _BESIDE.search(key)):
                    topic = key.removeprefix(self._folder).split(self._config.directory_delim)[1]
                    schema = pq.read_schema(io.BytesIO(bucket.content(key, deadline) or b""))
                    found |= {f"{topic}.{field.name}": str(field.type) for field in schema}
        return found

    def remove(self, deadline: Deadline) -> None:
        """Delete all objects, and the folders of those that are files."""
        with closing(Bucket(self._config)) as bucket:
            bucket.delete(self._keys(bucket, deadline), deadline)
        if self._config.storage_class in FOLDER_STORAGES:
            open_store(self._config).remove_empty_folders(self._folder)

    def _keys(self, bucket: Bucket, deadline: Deadline) -> list[str]:
        start = self._folder + self._config.directory_delim
        found = bucket.objects(start.rpartition("/")[0], deadline)
        return [one.key for one in found if one.key.startswith(start)]


def _reader(config: S3SinkConfig) -> Reader:
    if config.format_class == PARQUET_FORMAT:
        return _parquet_rows
    if config.format_class == AVRO_FORMAT:
        return _avro_rows
    compression = Compression(config.compression_type, config.compression_level)
    if config.format_class == JSON_ARRAY_FORMAT:
        return lambda data: _array_rows(data, compression)
    if config.format_class == CSV_FORMAT:
        return lambda data: _csv_rows(data, compression)
    is_bytes = config.format_class == BYTES_FORMAT
    separator = b"\n" if not is_bytes or config.bytes_separator is None else config.bytes_separator.encode()
    if not separator:
        raise ConnectError("Values without a separator cannot be told apart.", key="format.bytearray.separator")
    return lambda data: _text_rows(data, compression, separator)


def _text_rows(data: bytes, compression: Compression, separator: bytes) -> Iterator[bytes]:
    import pyarrow as pa

    yield from compression.unpacked(pa.py_buffer(data)).split(separator)[:-1]


def _array_rows(data: bytes, compression: Compression) -> Iterator[bytes]:
    import orjson
    import pyarrow as pa

    yield from (orjson.dumps(row) for row in orjson.loads(compression.unpacked(pa.py_buffer(data))))


def _csv_rows(data: bytes, compression: Compression) -> Iterator[bytes]:
    import pyarrow as pa

    lines = csv.reader(io.StringIO(compression.unpacked(pa.py_buffer(data)).decode(), newline=""))
    next(lines, None)
    yield from (repr(line).encode() for line in lines)


def _parquet_rows(data: bytes) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(io.BytesIO(data)).iter_batches():
        yield from (repr(row).encode() for row in batch.to_pylist())


def _avro_rows(data: bytes) -> Iterator[bytes]:
    import fastavro

    yield from (repr(row).encode() for row in fastavro.reader(io.BytesIO(data)))
