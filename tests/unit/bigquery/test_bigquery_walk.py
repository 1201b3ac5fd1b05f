"""Counts how often one batch of a known table goes from a file of the sink into another one: the figures only fall.

The walk of a row that ARCHITECTURE.md tells should be one way. What a schema alone decides need not be asked for each
batch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Final

import pytest
from bigquery_oracle import Message
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_compaction_columns import with_values

import connectors.bigquery
from connect.api import schema as s
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

FOLDER: Final = str(Path(connectors.bigquery.__file__).parent)
FIELDS: Final = {
    "id": s.Schema(s.Type.INT64), "name": s.Schema(s.Type.STRING), "amount": s.Schema(s.Type.FLOAT64),
    "is_new": s.Schema(s.Type.BOOLEAN),
}  # fmt: skip
MOST: Final = {"calls": 119, "returns": 71, "files": 23}
"""One `put` calls into another file so often, goes so often into a file that it had left, and is in so many files."""


class Walk:
    """Follows this thread's calls from file to file of the sink."""

    def __init__(self) -> None:
        self.calls = 0
        self.returns = 0
        self.files: dict[str, int] = {}
        self._last = ""

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take an event of the interpreter."""
        del argument
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(FOLDER) or frame.f_back is None:
            return
        if frame.f_back.f_code.co_filename != file:
            self.calls += 1
            self.returns += file in self.files and file != self._last
            self.files[file] = self.files.get(file, 0) + 1
            self._last = file

    @property
    def figures(self) -> dict[str, int]:
        """Return what MOST limits."""
        return {"calls": self.calls, "returns": self.returns, "files": len(self.files)}


@contextmanager
def followed() -> Iterator[Walk]:
    walk, before = Walk(), sys.getprofile()
    sys.setprofile(walk.note)
    try:
        yield walk
    finally:
        sys.setprofile(before)


def batch(offset: int) -> Batch:
    rows = [{"id": offset + n, "name": f"n{n}", "amount": n / 2, "is_new": n % 2 == 0} for n in range(3)]
    return with_values([Message(0, offset + n, offset + n, 0) for n in range(3)], FIELDS, rows)


@pytest.mark.quick
def test_one_batch_of_a_known_table_goes_from_file_to_file_no_more_often_than_before(monkeypatch):
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0005)
    client = PlainClient(PlainBigQuery(Random(1)))
    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(client, PROJECT, DATASET, timeout_s=10))
    config = BigQuerySinkConfig.parse({
        "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", "dedup.mode": "merge",
        "timePartitioningType": "NONE",
    })  # fmt: skip
    task = sink.BigQuerySinkTask(config)
    task.open(FakeSinkContext())
    try:
        put_until_gathered(task, 0)
        task.put(batch(3), Deadline.after(10))
        with followed() as walk:
            task.put(batch(6), Deadline.after(10))
    finally:
        task.close()
    by_file = sorted(((number, file.removeprefix(FOLDER)) for file, number in walk.files.items()), reverse=True)
    assert walk.figures == MOST, f"write lower figures into MOST; higher ones need another way: {by_file}"


def put_until_gathered(task: sink.BigQuerySinkTask, offset: int) -> None:
    task.put(batch(offset), Deadline.after(10))
    deadline = Deadline.after(60)
    while task._open.first_records.are_waiting:
        assert deadline.wait(0.01)
        task.flush(deadline)
