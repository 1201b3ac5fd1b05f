"""Reads Parquet files as columns with their types. The files are cut between rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from connect.api.arrow import arrow_type, connect_schema, with_times
from connect.api.errors import ConnectError
from connect.api.records import Column
from connect.api.schema import Schema
from connect.api.time_types import TimePrecision, time_type
from connectors.file.data_formats import Page, Piece, cut
from connectors.file.data_store import DataFile, DataStore


class ParquetFiles:
    """Implements DataFormat; places are rows."""

    def __init__(self, page_rows: int, times: TimePrecision) -> None:
        self._page_rows = page_rows
        self._times = times

    def pieces(self, store: DataStore, file: DataFile, rows: int, size_bytes: int) -> Sequence[Piece]:
        """Return the file in pieces, by the numbers of rows and bytes in the file's footer."""
        with _opened(store, file.path) as opened:
            total = opened.metadata.num_rows
            groups = range(opened.metadata.num_row_groups)
            total_bytes = sum(opened.metadata.row_group(group).total_byte_size for group in groups)
        parts = max(1, -(-total // rows), -(-total_bytes // size_bytes))
        return [
            Piece(start, stop, stop - start, total_bytes * (stop - start) // max(1, total))
            for start, stop in cut(0, total, min(parts, max(1, total)))
        ]

    def pages(self, store: DataStore, path: str, start: int, stop: int) -> Iterator[Page]:
        """Yield the rows, row group by row group. Row groups before `start` are not read.

        Raise SchemaError if a column's type cannot be kept without loss.
        """
        with _opened(store, path) as opened:
            first = 0
            for group in range(opened.metadata.num_row_groups):
                rows = opened.metadata.row_group(group).num_rows
                if first < stop and first + rows > start:
                    yield from self._group(opened, group, first, (start, stop))
                first += rows

    def count(self, store: DataStore, path: str, start: int, stop: int) -> int:
        """Return the number of rows from the file's footer."""
        with _opened(store, path) as opened:
            return max(0, min(stop, int(opened.metadata.num_rows)) - start)

    def _group(self, opened: pq.ParquetFile, group: int, first: int, wanted: tuple[int, int]) -> Iterator[Page]:
        for batch in opened.iter_batches(self._page_rows, row_groups=[group]):
            low, high = max(wanted[0] - first, 0), min(wanted[1] - first, batch.num_rows)
            if low < high:
                yield Page(_column(batch.slice(low, high - low), self._times), first + high)
            first += batch.num_rows


@contextmanager
def _opened(store: DataStore, path: str) -> Iterator[pq.ParquetFile]:
    with store.open(path) as file:
        try:
            yield pq.ParquetFile(file)
        except pa.ArrowInvalid as error:
            raise ConnectError(f"{path} is no Parquet file, or a broken one: {error}.", key="format") from error


def _column(batch: pa.RecordBatch, times: TimePrecision) -> Column:
    array = batch.to_struct_array()
    schema = connect_schema(array.type, optional=False, times=times)
    children = [_fitted(child, field.schema) for child, field in zip(array.flatten(), schema.fields, strict=True)]
    fields = [pa.field(field.name, arrow_type(field.schema), field.schema.optional) for field in schema.fields]
    return Column.from_arrow(pa.StructArray.from_arrays(children, fields=fields), schema)


def _fitted(array: Any, schema: Schema) -> Any:
    """Return the array in the Arrow type that columns of this schema have: string, not large_string or dictionary."""
    if time_type(schema.name) is not None or pa.types.is_struct(array.type):
        array = with_times(array, schema)
    wanted = arrow_type(schema)
    return array if array.type == wanted else array.cast(wanted)
