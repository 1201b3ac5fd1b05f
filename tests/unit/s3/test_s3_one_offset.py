"""Checks rows that a transform made of one record, which share its offset: one object gets them, or the task ends; none
is lost.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_http_store import TP, Store
from s3_task_runs import TaskRun, batch

from connect.api import schema as s
from connect.api.errors import ConnectError
from connect.api.records import Batch, Consumed
from connectors.s3.formats.format_specs import JSON_FORMAT, PARQUET_FORMAT


def at(offsets: list[int], values: list[Any], schema: s.Schema | None = None, end: int = 7) -> Batch:
    numbers = pa.array(offsets, pa.int64())
    rows = batch([{"a": value} for value in values], schema)
    return replace(rows, timestamps_ms=numbers, consumed=Consumed(TP, numbers, end))


def put_and_flush(run: TaskRun, batches: list[Batch]) -> None:
    for given in batches:
        run.put(given)
    run.flush()


NUMBER, TEXT = s.struct({"a": s.INT64}), s.struct({"a": s.STRING})


@pytest.mark.parametrize(
    "batches",
    [
        [at([4, 5, 5, 6], [1, 2, "x", 3])],
        [at([4, 5], [1, 2], NUMBER), at([5], ["x"], TEXT), at([6], [3], NUMBER)],
        [at([4, 6], [1, 3], NUMBER), at([5], ["x"], TEXT)],
    ],
)
@pytest.mark.parametrize("conditional", ["true", "false"])
def test_rows_of_one_offset_that_no_file_holds_together_end_the_task(store: Store, batches, conditional) -> None:
    run = TaskRun(store, format_class=PARQUET_FORMAT, enable_conditional_writes=conditional)
    with pytest.raises(ConnectError, match=r"t-0: .*at offset 5, .*one schema.*JsonFormat"):
        put_and_flush(run, batches)
    assert store.objects == {}


def test_json_holds_them_together(store: Store) -> None:
    run = TaskRun(store, format_class=JSON_FORMAT)
    run.put(at([4, 5, 5, 6], [1, 2, "x", 3]))
    (body,) = run.written().values()
    assert [orjson.loads(line)["a"] for line in body.splitlines()] == [1, 2, "x", 3]


def test_another_schema_of_the_next_offset_begins_a_file(store: Store) -> None:
    run = TaskRun(store, format_class=PARQUET_FORMAT)
    run.put(at([4, 5, 5, 6], [1, 2, 3, "x"]))
    bodies = run.written().values()
    assert [pq.read_table(io.BytesIO(body))["a"].to_pylist() for body in bodies] == [[1, 2, 3], ["x"]]
