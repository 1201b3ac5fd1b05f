"""Checks what is in the files of an Iceberg table where rows have lists and maps of structs."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from iceberg_lake import Lake, soon, values

from connect.api import schema as s
from connect.api.optional.compaction import Compaction
from connectors.s3.iceberg.connector import IcebergSinkConnector

pytestmark = pytest.mark.thorough

PART = s.struct({"x": s.INT32})
NESTED = s.struct({
    "n": s.INT64, "parts": s.array(PART).as_optional(), "named": s.map_of(s.STRING, PART).as_optional(),
    "deep": s.struct({"parts": s.array(PART).as_optional()}).as_optional(),
})  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"n": 0, "parts": None, "named": None, "deep": {"parts": None}},
    {"n": 1, "parts": [], "named": {}, "deep": None},
    {"n": 2, "parts": [{"x": 1}], "named": {"a": {"x": 2}}, "deep": {"parts": [{"x": 3}]}},
]


def in_files(lake: Lake) -> list[dict[str, Any]]:
    """Return the rows as the table's files have them, as pyiceberg reads some nulls as empty."""
    found: list[dict[str, Any]] = []
    for task in lake.catalog().load_table("lake.orders").scan().plan_files():
        content = pq.ParquetFile(task.file.file_path.removeprefix("file://")).read()
        found += content.to_pylist(maps_as_pydicts="strict")
    return sorted(found, key=lambda row: row["n"])


def compact(lake: Lake) -> list[int]:
    """Compact the table, and return of how many files each new one is."""
    connector = IcebergSinkConnector(lake.config())
    groups = list(connector.compaction_groups(Compaction(target_bytes=2**20)))
    return [done.files_before for group in groups if (done := connector.compact(group)) is not None]


def test_lists_and_maps_of_structs_that_are_null_stay_null_also_behind_a_compaction(lake):
    task = lake.task()
    for offset, row in enumerate(ROWS):
        task.put(values([row], offset, NESTED), soon())
        lake.flush(task)
    assert in_files(lake) == ROWS
    assert compact(lake) == [3]
    assert in_files(lake) == ROWS


def test_files_that_cannot_be_read_exactly_are_not_compacted(lake):
    task = lake.task()
    task.put(values(ROWS, 0, NESTED), soon())
    lake.flush(task)
    more = s.struct({**{field.name: field.schema for field in NESTED.fields}, "new": s.INT32.as_optional()})
    task.put(values([{**ROWS[0], "n": 3, "new": 1}], 3, more), soon())
    lake.flush(task)
    assert compact(lake) == []
    assert [row["n"] for row in in_files(lake)] == [0, 1, 2, 3]
