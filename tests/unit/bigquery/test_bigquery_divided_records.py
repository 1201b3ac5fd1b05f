"""Rows that a transform made of one record are rows of their own, in each mode, whatever is read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_compaction import Prompt

from connect.api.records import Batch
from connectors.bigquery.dedup.rules import INSERT_ID
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.intake import taken_in
from connectors.bigquery.write.table_writers import table_writer_of
from connectors.bigquery.write.tables_ready import TargetTables


def divided(messages: Sequence[Message], numbers: Sequence[int] | None) -> Batch:
    batch = batch_of(messages)
    assert batch.consumed is not None
    found = None if numbers is None else pa.array(numbers, pa.int64())
    return replace(batch, consumed=replace(batch.consumed, row_numbers=found))


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Life:
    """A task, whose tables are found anew."""

    def __init__(self, service: PlainBigQuery, **others: str) -> None:
        given = {"project": PROJECT, "defaultDataset": DATASET, "timePartitioningType": "NONE"}
        self.config = BigQuerySinkConfig.parse({**given, **{k.replace("__", "."): v for k, v in others.items()}})
        self.warehouse = Warehouse(PlainClient(service), PROJECT, DATASET, timeout_s=10)
        self.targets = TargetTables(self.config, self.warehouse)
        self.writer = table_writer_of(self.config, self.warehouse, Role("c", 0, 1, "tmp"), lambda _: None)

    def admitted(self, batch: Batch) -> Any:
        ((_, admitted),) = taken_in(batch, self.targets).parts
        return admitted

    def write(self, *batches: Batch) -> None:
        for batch in batches:
            assert batch.consumed is not None
            for buffer, admitted in taken_in(batch, self.targets).parts:
                buffer.take(batch.consumed.topic_partition, admitted, 0.0)
        for buffer in self.targets.buffers.values():
            if buffer.held_rows:
                for _ in range(2):
                    assert buffer.advance(self.writer.write, AtOnce(), 1e9) is None
                assert not buffer.is_writing
                assert not buffer.refused


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


def rows_of_one(number: int | None, offset: int, count: int, time_s: int = 0) -> list[Message]:
    return [Message(0, offset, number, time_s, text=f"{offset}/{row}") for row in range(1, count + 1)]


PLAIN = Message(0, 4, None, 0, text="4/0")
THREE, TWO = rows_of_one(None, 5, 3), rows_of_one(None, 6, 2)
NUMBERED = divided([*THREE, *TWO], [1, 2, 3, 1, 2])
ALL = ["4/0", "5/1", "5/2", "5/3", "6/1", "6/2"]


def shown(service: PlainBigQuery, table: str = "orders") -> list[str]:
    return sorted(row["text"] for row in service.rows(table))


def test_rows_of_one_record_have_insert_ids_of_their_own(service):
    life = Life(service)
    ids = [life.admitted(batch).rows[INSERT_ID].to_pylist() for batch in (divided([PLAIN], None), NUMBERED)]
    assert ids == [
        ["orders-0-4-"],
        ["orders-0-5--1", "orders-0-5--2", "orders-0-5--3", "orders-0-6--1", "orders-0-6--2"],
    ]


@pytest.mark.parametrize("mode", ["merge", "compact"])
@pytest.mark.parametrize("is_first", [True, False], ids=["at once", "later"])
def test_rows_without_a_key_are_appended_once_each(service, mode, is_first):
    settings = {
        "dedup__mode": mode,
        "dedup__fields": "id",
        "dedup__null__key": "append",
        "dedup__compact__interval__ms": "0",
    }
    first = Life(service, **settings)
    plain = divided([PLAIN], None)
    first.write(*([divided(THREE[:1], [1]), plain] if is_first else [plain]))
    first.write(divided(THREE[:2], [1, 2]), plain)  # a batch that ended within a record
    first.write(NUMBERED, plain)
    second = Life(service, **settings)  # after a restart
    second.write(divided([*THREE[1:], *TWO], [2, 3, 1, 2]), plain)
    assert shown(service, "orders_latest" if mode == "compact" else "orders") == ALL
    second.writer.collect()
    assert shown(service) == ALL


def test_the_view_shows_each_row_without_a_key(service):
    life = Life(service, dedup__mode="view", dedup__fields="id", dedup__null__key="append")
    life.write(divided([PLAIN], None), NUMBERED)
    life.write(NUMBERED)
    assert shown(service, "orders_latest") == ALL


@pytest.mark.parametrize("mode", ["merge", "compact", "view"])
def test_of_rows_of_one_record_with_one_key_the_last_one_stays(service, mode):
    life = Life(service, dedup__mode=mode, dedup__fields="id", dedup__compact__interval__ms="0")
    life.write(divided([Message(0, 4, 7, 0, text="4/0")], None))
    life.write(divided(rows_of_one(7, 5, 3), [1, 2, 3]))
    life.write(divided(rows_of_one(7, 5, 3)[:2], [1, 2]))
    assert shown(service, "orders" if mode == "merge" else "orders_latest") == ["5/3"]
    life.writer.collect()
    assert mode == "view" or shown(service) == ["5/3"]


def test_each_row_is_told_apart_by_its_number(service):
    life = Life(service, dedup__mode="merge", dedup__fields="__partition,__offset,__row")
    life.write(divided([PLAIN], None), NUMBERED)
    life.write(NUMBERED)
    assert shown(service) == ALL


def test_of_a_record_with_late_rows_these_alone_are_bad(service):
    day_s = 86_400
    run = [Message(0, 1, 1, 9 * day_s), Message(0, 1, 2, 0), Message(0, 1, 3, 9 * day_s), Message(0, 1, 4, 0)]
    life = Life(
        service, dedup__mode="merge", dedup__fields="id", dedup__window="3d", dedup__late="dlq",
        timestampPartitionFieldName="at", timePartitioningType="DAY",
    )  # fmt: skip
    assert sorted(life.admitted(divided(run, [1, 2, 3, 4])).bad) == [1, 3]
