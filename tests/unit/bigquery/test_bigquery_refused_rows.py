"""Checks which rows of a refused batch are bad: found by halves, and by their size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.merge.halving import REFUSED_MOST, write_by_halves
from connectors.bigquery.rows.sizes import parts, row_sizes, too_large
from connectors.bigquery.rows.table_schema import ColumnType
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.write.table_buffers import Rotation, TableBuffer
from connectors.bigquery.write.tables_ready import TargetTables


@pytest.fixture(scope="module")
def table() -> SqlTable:
    return SqlTable(config())


def sealed(table: SqlTable, *runs: list[Message]) -> SealedBatch:
    pieces = []
    for run in runs:
        admitted = table.admission.admit(batch_of(run))
        pieces.append(Piece(TopicPartition("orders", run[0].partition), admitted.rows, admitted.offsets))
    return SealedBatch("orders", tuple(pieces), table.columns, table.dedup, None)


def ids_of(batch: SealedBatch) -> list[int]:
    return [number for rows in batch.tables for number in rows["id"].to_pylist()]


class Taken:
    """A table that refuses every batch with one of these ids, or with more rows than `most`."""

    def __init__(self, refuses: Callable[[list[int]], bool]) -> None:
        self.refuses = refuses
        self.ids: list[int] = []
        self.calls = 0

    def __call__(self, batch: SealedBatch) -> None:
        self.calls += 1
        ids = ids_of(batch)
        if self.refuses(ids):
            raise RefusedJobError(f"no to {len(ids)} rows")
        self.ids += ids


def messages(partition: int, ids: range) -> list[Message]:
    return [Message(partition, 10 * number, number, 0) for number in ids]


def test_rows_that_are_refused_alone_are_bad_and_all_others_land(table):
    batch = sealed(table, messages(0, range(40)), messages(1, range(40, 100)))
    taken = Taken(lambda ids: bool({7, 63} & set(ids)))
    refused = write_by_halves(batch, taken)
    assert sorted(refused) == [7, 63]
    assert sorted(taken.ids) == [number for number in range(100) if number not in {7, 63}]
    assert taken.calls < 40
    assert batch.places(list(refused)) == {
        TopicPartition("orders", 0): [(70, 7)],
        TopicPartition("orders", 1): [(630, 63)],
    }


def test_a_limit_of_one_job_is_kept_by_several(table):
    taken = Taken(lambda ids: len(ids) > 8)
    assert write_by_halves(sealed(table, messages(0, range(50))), taken) == {}
    assert sorted(taken.ids) == list(range(50))


def test_what_is_refused_without_rows_is_no_fault_of_the_rows(table):
    taken = Taken(lambda ids: True)
    with pytest.raises(RefusedJobError, match="no to 0 rows"):
        write_by_halves(sealed(table, messages(0, range(50))), taken)
    assert taken.calls == 2


def test_a_batch_of_bad_rows_ends_the_search(table):
    taken = Taken(bool)
    with pytest.raises(ConnectError, match=f"more than {REFUSED_MOST} rows of a batch of 300 for table orders"):
        write_by_halves(sealed(table, messages(0, range(300))), taken)


def test_the_size_of_a_row_is_that_of_all_that_it_holds():
    rows = pa.table({
        "number": pa.array([1, 2, 3], pa.int64()),
        "text": ["", "x" * 100, None],
        "tags": pa.array([["a", "bcd"], [], None], pa.list_(pa.string())),
        "place": pa.array([{"raw": b"12345"}, None, {"raw": b""}], pa.struct({"raw": pa.binary()})),
    })  # fmt: skip
    assert row_sizes(rows).to_pylist() == [8 + 4 + 5, 8 + 100, 8]
    assert row_sizes(rows.slice(1)).to_pylist() == [8 + 100, 8]


def test_rows_above_the_limit_are_left_out_and_requests_hold_what_fits():
    rows = pa.table({"text": ["x" * size for size in (10, 90, 10, 200, 40, 40, 40)]})
    out = too_large(rows, 100)
    assert list(out) == [3]
    assert "The row has 200 bytes" in str(out[3])
    assert list(parts(rows, 100, 10, leave_out=out)) == [(0, 2), (2, 3), (4, 6), (6, 7)]
    assert list(parts(rows.slice(0, 3), 10**6, 2)) == [(0, 2), (2, 3)]


def test_a_column_to_which_somebody_gave_another_type_is_named_with_its_table(table):
    now = [replace(c, type=ColumnType.DATE) if c.name == "version" else c for c in table.columns]
    facts = TableFacts("orders", tuple(now), {}, "")
    targets = TargetTables(table.settings, SimpleNamespace(table=lambda _: facts))  # type: ignore[arg-type]  # `table` alone is called
    buffer = TableBuffer("orders", table.columns, table.dedup, Rotation(1, 1, 1.0))
    told = r"p\.d\.orders was changed by somebody else.*column version is gone or has another type.*Restart"
    with pytest.raises(ConnectError, match=told):
        targets.check_unchanged(buffer, RefusedJobError("refused"))
    facts = TableFacts("orders", table.columns, {}, "")
    targets.check_unchanged(buffer, RefusedJobError("refused"))
