"""Checks how Parquet files are encoded: row groups, and which columns have dictionaries."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.s3.formats.parquet import ROW_GROUP_BYTES, ParquetEncoder


def file_of(*batches: pa.RecordBatch) -> pq.ParquetFile:
    encoder = ParquetEncoder("zstd")
    for batch in batches:
        encoder.write(batch, batch.schema)
    return pq.ParquetFile(pa.BufferReader(encoder.end().data))


def rows(count: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(range(count)), "text": ["same"] * count})


@pytest.mark.parametrize(("count", "has_dictionary"), [(10, [False, True]), (5000, [True, True])])
def test_numbers_of_few_rows_have_no_dictionaries(count: int, has_dictionary: list[bool]):
    file = file_of(rows(count))
    assert [file.metadata.row_group(0).column(at).has_dictionary_page for at in (0, 1)] == has_dictionary
    assert file.read().to_pylist() == rows(count).to_pylist()


def test_columns_below_nested_ones_have_theirs():
    batch = pa.record_batch({"s": [{"a": "x"}] * 10, "n": list(range(10))})
    group = file_of(batch).metadata.row_group(0)
    assert [group.column(at).has_dictionary_page for at in (0, 1)] == [True, True]


def test_a_row_group_ends_behind_the_batch_that_fills_it():
    half = pa.record_batch({"text": pa.repeat(pa.scalar("x" * 2**20), ROW_GROUP_BYTES // 2**21)})
    encoder = ParquetEncoder("zstd")
    for _ in range(5):
        encoder.write(half, half.schema)
    file = pq.ParquetFile(pa.BufferReader(encoder.end().data))
    assert [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)] == [
        2 * len(half), 2 * len(half), len(half),
    ]  # fmt: skip
