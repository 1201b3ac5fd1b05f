"""Checks what a task does for its own batches and those that others staged: refusals, and what a merge costs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import Deletes, Keep
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.merge.merge_line import merges_table
from connectors.bigquery.merge.merge_writer import Merging
from connectors.bigquery.merge.merger import MergeRules
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.rows.table_schema import Columns
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.job_facts import Changed
from connectors.bigquery.warehouse.service_clock import ServiceClock
from connectors.bigquery.warehouse.table_facts import NewTable, TableFacts


class Tables:
    """Staging tables in memory. A merge is refused whose staged tables hold one of these ids."""

    loads = 0

    def __init__(self, columns: Columns, refuses: int | None = None) -> None:
        self.columns = columns
        self.clock = ServiceClock()
        self.refuses = refuses
        self.staged: dict[str, TableFacts] = {}
        self.sizes: dict[str, bytes] = {}
        self.merged: list[str] = []
        self.filled: list[bool] = []
        self.dropped_by_others = 0
        self.lock = threading.Lock()

    def path(self, table: str) -> str:
        return f"`{table}`"

    def create(self, table: NewTable) -> bool:
        with self.lock:
            is_new = table.name not in self.staged
            self.staged[table.name] = TableFacts(
                table.name, table.columns, dict(table.labels or {}), table.description or ""
            )
        return is_new

    def fill(self, name: str, columns: Columns, parquet: Any, job_id: str, *, is_new: bool) -> None:
        self.filled.append(is_new)
        self.sizes[name] = parquet.to_pybytes()

    def table(self, name: str) -> TableFacts | None:
        is_there = name in {"orders", merges_table("orders")}
        return self.staged.get(name, TableFacts(name, self.columns, {}, "") if is_there else None)

    def label(self, name: str, labels: Mapping[str, str], *, description: str | None = None) -> None:
        with self.lock:
            now = self.table(name)
            assert now is not None, name
            self.staged[name] = TableFacts(
                name, now.columns, {**now.labels, **labels}, now.description if description is None else description
            )

    def labelled(self, labels: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
        yield from ((n, t.labels) for n, t in list(self.staged.items()) if labels.items() <= t.labels.items())

    def drop(self, name: str) -> None:
        self.staged.pop(name, None)

    def scanned_bytes(self, sql: str) -> int:
        return 10 * 2**30

    def has_attempt(self, job_id: str, attempt: int) -> bool:
        return False

    def run(self, sql: str, job_id: str, doing: str, *, first_attempt: int, **_: Any) -> Changed:
        if self.dropped_by_others:
            self.dropped_by_others -= 1
            self.staged.clear()
            raise RetriableError("Not found: Table")
        named = [name for name in list(self.staged) if f"`{name}`" in sql]
        if self.refuses is not None and any(self._holds(name, self.refuses) for name in named):
            raise RefusedJobError("a partition too many")
        self.merged += named
        return Changed(inserted=len(named), billed_bytes=7)

    def _holds(self, name: str, number: int) -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        return number in pq.read_table(pa.BufferReader(self.sizes[name]))["id"].to_pylist()


@pytest.fixture(scope="module")
def table() -> SqlTable:
    return SqlTable(config())


def batch(table: SqlTable, partition: int, *ids: int) -> SealedBatch:
    admitted = table.admission.admit(batch_of([Message(partition, i, number, 0) for i, number in enumerate(ids)]))
    piece = Piece(TopicPartition("orders", partition), admitted.rows, admitted.offsets)
    return SealedBatch("orders", (piece,), table.columns, table.dedup, None)


def merging(tables: Tables, task: int = 0, tasks: int = 1, figures: dict[str, int] | None = None) -> Merging:
    rules = MergeRules(
        Keep.LATEST, Deletes.TOMBSTONE, remembers_deletes=False, remembers_clears=False, window_column=None,
        interval_s=60.0,
    )  # fmt: skip
    report = (figures if figures is not None else {}).update
    return Merging(tables, Role("c", task, tasks, "tmp"), rules=rules, report=report, at_once=4)  # type: ignore[arg-type]  # a stand-in


def test_what_a_merge_costs_is_said_once_for_a_day_and_after_each_merge(table, caplog):
    caplog.set_level(logging.INFO)
    figures: dict[str, int] = {}
    one = merging(Tables(table.columns), figures=figures)
    one.write(batch(table, 0, 1, 2, 3))
    one.write(batch(table, 0, 4))
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == (
        "A merge into table orders reads 10737418240 bytes; one every 60 s reads 14400.0 GiB a day (about 87.89 USD on "
        "demand, at 6.25 USD a TiB)."
    )
    assert [line.split(": ")[1] for line in said[1:]] == [
        "3 rows staged, 1 inserted, 0 updated, 0 deleted, 2 dropped as duplicate or older; 7 bytes billed.",
        "1 rows staged, 1 inserted, 0 updated, 0 deleted, 0 dropped as duplicate or older; 7 bytes billed.",
    ]
    assert figures["merged_bytes_billed_total"] == 7


def test_staging_tables_of_a_refused_merge_are_dropped_and_its_row_is_named(table):
    tables = Tables(table.columns, refuses=3)
    assert list(merging(tables).write(batch(table, 0, 1, 2, 3, 4))) == [2]
    assert tables.staged == {}


def test_a_staging_table_that_somebody_dropped_is_filled_again(table):
    tables = Tables(table.columns)
    tables.dropped_by_others = 1
    one, sealed = merging(tables), batch(table, 0, 1, 2)
    with pytest.raises(RetriableError, match="Not found"):
        one.write(sealed)
    one.write(sealed)
    assert tables.filled == [True, True]
    assert len(tables.merged) == 1


def test_a_bad_row_of_another_task_holds_up_nobody_else(table, monkeypatch):
    monkeypatch.setattr("connectors.bigquery.merge.merge_writer._LOOK_S", 0.02)
    tables = Tables(table.columns, refuses=13)
    leader_task = next(task for task in (0, 1) if Role("c", task, 2, "tmp").merges("orders"))
    leader, other = merging(tables, leader_task, 2), merging(tables, 1 - leader_task, 2)
    refused: dict[int, Exception] = {}
    thread = threading.Thread(target=lambda: refused.update(other.write(batch(table, 1, 11, 12, 13, 14))))
    thread.start()
    for number in range(400):
        if not thread.is_alive():
            break
        leader.write(batch(table, 0, number + 100))
        leader.collect()
        thread.join(0.02)
    assert list(refused) == [2]
    assert "a partition too many" in str(refused[2])
    assert tables.staged == {}
