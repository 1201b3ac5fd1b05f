"""Checks the files of an Iceberg table whose rows are nested, or whose columns others change while rows wait."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from iceberg_lake import Lake, soon, values
from pyiceberg.table.update.schema import UpdateSchema

from connect.api import schema as s
from connect.api.errors import SchemaError
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


FLAT = s.struct({"n": s.INT64, "p": s.STRING.as_optional(), "q": s.struct({"r": s.STRING.as_optional()}).as_optional()})


def changed(lake: Lake, change: str, *names: str) -> None:
    with lake.catalog().load_table("lake.orders").update_schema(allow_incompatible_changes=True) as update:
        getattr(UpdateSchema, change)(update, *names)


@pytest.mark.parametrize(("change", "names"), [("rename_column", ("p", "z")), ("delete_column", ("p",))])
def test_a_value_is_written_though_its_column_goes_while_its_row_waits(lake, change, names):
    task = lake.task()
    task.put(values([{"n": 1, "p": "a", "q": None}], 0, FLAT), soon())
    lake.flush(task)
    task.put(values([{"n": 2, "p": "b", "q": {"r": "c"}}], 1, FLAT), soon())
    changed(lake, change, *names)
    changed(lake, "rename_column", "q.r", "t")
    lake.flush(task)
    row = lake.table().to_pylist()[0]
    assert (row["n"], row["p"], row["q"]) == (2, "b", {"t": None, "r": "c"})


def test_a_column_that_goes_stays_away_where_waiting_rows_have_no_value_of_it(lake):
    task = lake.task()
    task.put(values([{"n": 1, "p": "a", "q": None}], 0, FLAT), soon())
    lake.flush(task)
    task.put(values([{"n": 2}], 1, s.struct({"n": s.INT64})), soon())
    changed(lake, "delete_column", "p")
    lake.flush(task)
    assert lake.table().column_names == ["n", "q"]


def test_a_value_whose_column_went_stops_a_task_that_may_not_add_columns(lake):
    lake.task().put(values([{"n": 1, "p": "a", "q": None}], 0, FLAT), soon())
    lake.settings = {"iceberg_evolve_schema": "false"}
    task = lake.task()
    task.put(values([{"n": 1, "p": "a", "q": None}], 0, FLAT), soon())
    changed(lake, "rename_column", "p", "z")
    with pytest.raises(SchemaError, match="would need other columns for these rows: p string"):
        lake.flush(task)
