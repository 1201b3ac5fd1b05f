"""Checks records that get members in a table while rows of it are on their way, or in a task that has never seen
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from e2e_worker import wait_for
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.merge import merge_line, merge_writer
from connectors.bigquery.settings.config import TASKS_KEY, BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkTask
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

INNER = s.struct({"x": s.INT64.as_optional()}, optional=True)
WIDE_INNER = s.struct({"x": s.INT64.as_optional(), "y": s.STRING.as_optional()}, optional=True)
NARROW = s.struct({"a": s.INT64.as_optional(), "inner": INNER}, optional=True)
WIDE = s.struct({"a": s.INT64.as_optional(), "inner": WIDE_INNER, "b": s.STRING.as_optional()}, optional=True)
NARROW_VALUE, WIDE_VALUE = {"a": 1, "inner": {"x": 2}}, {"a": 3, "inner": {"x": 4, "y": "y"}, "b": "b"}
NARROW_AS_WIDE = {"a": 1, "inner": {"x": 2, "y": None}, "b": None}


def once(record: s.Schema) -> s.Schema:
    return s.struct({"id": s.INT64, "r": record})


def several(record: s.Schema) -> s.Schema:
    return s.struct({"id": s.INT64, "r": s.array(replace(record, optional=False), optional=True)})


def batch(schema: s.Schema, partition: int, first: int, rows: Sequence[Mapping[str, Any]]) -> Batch:
    offsets = pa.array(range(first, first + len(rows)), pa.int64())
    return Batch(
        "t", Column.from_arrow(pa.array(rows, arrow_type(schema)), schema), partition=partition,
        timestamps_ms=pa.array([1000 + first + row for row in range(len(rows))], pa.int64()),
        consumed=Consumed(TopicPartition("t", partition), offsets, first + len(rows)),
    )  # fmt: skip


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    made = PlainBigQuery(Random(1))
    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(PlainClient(made), PROJECT, DATASET, timeout_s=10))
    monkeypatch.setattr(merge_writer, "_LOOK_S", 0.005)
    monkeypatch.setattr(merge_writer, "_PATIENCE_S", 0.3)
    monkeypatch.setattr(merge_line, "_QUIET_S", 0.02)
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0005)
    monkeypatch.setattr(jobs, "_LAST_LOOK_S", 0.002)
    return made


class Task:
    """A task of a connector, and how far it says that it is."""

    def __init__(self, number: int, tasks: int) -> None:
        settings = {
            "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", TASKS_KEY: str(tasks),
            "dedup.merge.interval.ms": "0", "timePartitioningType": "NONE", "allowNewBigQueryFields": "true",
        }  # fmt: skip
        self.task = BigQuerySinkTask(BigQuerySinkConfig.parse(settings))
        self.context = FakeSinkContext(task=number)
        self.task.open(self.context)

        self.ends: dict[TopicPartition, int] = {}
        self.claimed: dict[TopicPartition, int] = {}

    def put(self, given: Batch) -> None:
        assert given.consumed is not None
        self.ends[given.consumed.topic_partition] = given.consumed.next_offset
        self.task.put(given, Deadline.after(30))

    def has_settled(self) -> bool:
        """Flush; tell whether all that was put is claimed."""
        with suppress(RetriableError):  # another task merges first
            self.claimed |= self.task.flush(Deadline.after(5))
        return self.claimed == self.ends


def settle(tasks: Sequence[Task]) -> None:
    """Let the tasks flush in turn until all rows are claimed: each may wait for what another one merges."""
    wait_for(lambda: {task.has_settled() for task in tasks} == {True}, 60, "claims of all rows", pause_s=0.01)


@pytest.mark.parametrize("shape", [once, several])
@pytest.mark.parametrize("tasks", [1, 2])
def test_a_task_that_has_not_seen_a_new_member_goes_on(
    service: PlainBigQuery, shape: Callable[[s.Schema], s.Schema], tasks: int
) -> None:
    def value(record: Mapping[str, Any]) -> Any:
        return record if shape is once else [record]

    one, other = Task(0, tasks), Task(tasks - 1, tasks)
    both = [one, other]
    one.put(batch(shape(NARROW), 0, 0, [{"id": 1, "r": value(NARROW_VALUE)}]))
    settle(both)
    other.put(batch(shape(WIDE), 1, 0, [{"id": 2, "r": value(WIDE_VALUE)}]))
    settle(both)
    one.put(batch(shape(NARROW), 0, 1, [{"id": 1, "r": None}, {"id": 3, "r": value(NARROW_VALUE)}]))
    other.put(batch(shape(WIDE), 1, 1, [{"id": 4, "r": value(WIDE_VALUE)}]))
    settle(both)
    found = {row["id"]: row["r"] for row in service.rows("t")}
    assert found == {1: None, 2: value(WIDE_VALUE), 3: value(NARROW_AS_WIDE), 4: value(WIDE_VALUE)}
    assert [one.context.rejected, other.context.rejected] == [[], []]
    for task in both:
        task.task.close()
