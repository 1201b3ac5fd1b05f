"""Keeps what is noted on a staging table as short as BigQuery takes it, however wide a table or long its keys are."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config
from test_bigquery_merging import Tables, batch, merging

from connect.api.records import TopicPartition
from connectors.bigquery.dedup.key_bounds import KeyBound
from connectors.bigquery.dedup.rules import DedupColumns, PathColumn
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.merge.staging import StagedFacts
from connectors.bigquery.merge.staging_tables import Role, StagingTables
from connectors.bigquery.rows.paths import Path, Root
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.warehouse.table_facts import NewTable

pytestmark = pytest.mark.quick
GOOGLES_CHARS = 16_384
"""Google's limit: https://docs.cloud.google.com/bigquery/quotas#all_tables."""


class RealTables(Tables):
    """Refuses a longer description, as BigQuery does."""

    longest = 0

    def create(self, table: NewTable) -> bool:
        self.longest = max(self.longest, len(table.description or ""))
        assert len(table.description or "") <= GOOGLES_CHARS, f"Description too long: {len(table.description or '')}"
        return super().create(table)


@pytest.fixture(scope="module")
def table() -> SqlTable:
    return SqlTable(config())


def with_columns(sealed: SealedBatch, texts: dict[str, list[str | None]]) -> SealedBatch:
    """The batch with further columns of texts."""
    (piece,) = sealed.pieces
    rows = piece.rows
    for name, values in texts.items():
        rows = rows.append_column(name, pa.array(values, pa.string()))
    columns = (*sealed.columns, *(ColumnSchema(name, ColumnType.STRING) for name in texts))
    return replace(sealed, pieces=(replace(piece, rows=rows),), columns=columns)


def keyed(sealed: SealedBatch, *names: str) -> SealedBatch:
    keys = tuple(PathColumn(Path(Root.VALUE, (name,)), name, is_own=False) for name in names)
    return replace(sealed, dedup=DedupColumns(keys, sealed.dedup.order))


def staged_again(tables: Tables, sealed: SealedBatch) -> tuple[StagedFacts, StagedFacts]:
    """The facts of a batch as its task has them, and as another task reads them from its staging table."""
    role = Role("c", 0, 2, "tmp")
    filled = StagingTables(tables, role).fill(sealed)  # type: ignore[arg-type]  # a stand-in
    StagingTables(tables, role).mark(filled.name, "staged", filled.facts.text())  # type: ignore[arg-type]  # as above
    found = StagingTables(tables, role).staged(filled.name)  # type: ignore[arg-type]  # as above
    assert found is not None
    bounds = [bound._replace(values=tuple(bound.values)) for bound in found.facts.key_bounds]
    return filled.facts, replace(found.facts, key_bounds=tuple(bounds))


def test_a_table_of_a_thousand_columns_is_staged_and_merged(table):
    sealed = with_columns(batch(table, 0, 1, 2), {f"a_name_as_long_as_others_{n}": ["x", None] for n in range(1000)})
    tables = RealTables(table.columns)
    assert merging(tables).write(sealed) == {}
    assert len(tables.merged) == 1


@pytest.mark.parametrize("clears", [False, True])
def test_another_task_reads_all_columns_of_a_wide_table_in_their_order(clears):
    table = SqlTable(config(order_by="version") if clears else config())
    sealed = with_columns(batch(table, 0, 1, 2), {f"a_name_as_long_as_others_{n}": ["x", None] for n in range(1000)})
    ours, theirs = staged_again(RealTables(table.columns), sealed)
    assert (ours.clears is not None) == clears
    assert theirs == ours


def test_long_texts_of_several_keys_leave_out_bounds_alone(table):
    draw = random.Random(7)
    texts = ["".join(chr(draw.randrange(0x4E00, 0x9FFF)) for _ in range(19)) + str(n) for n in range(90)]
    names = ("first", "second", "third")
    sealed = keyed(with_columns(batch(table, 0, *range(90)), dict.fromkeys(names, texts)), *names, "id")
    ours, theirs = staged_again(RealTables(table.columns), sealed)
    assert replace(theirs, key_bounds=ours.key_bounds) == ours
    assert set(theirs.key_bounds) < set(ours.key_bounds)
    assert theirs.key_bounds, "no bound was kept, though most of them have room"


def test_what_fits_is_noted_as_before(table):
    facts = StagedFacts.of(batch(table, 0, 1, 2))
    assert '"columns"' in facts.text()
    assert "format_version" not in facts.text()
    read = StagedFacts.parse(facts.text())
    assert read.columns == facts.columns
    assert KeyBound("id", ColumnType.INTEGER, (1, 2), is_range=False) in facts.key_bounds


def test_a_random_batch_is_read_as_it_was_noted(table):
    for seed in range(60):
        draw = random.Random(seed)
        rows, wide = draw.randrange(1, 120), draw.choice([0, 3, 200, 700])
        letter = draw.choice(["a", "é", "漢", "😀", '"', "\\"])
        texts = {f"{draw.choice(['k', 'k' * 40])}{n}": [letter * draw.randrange(40) + str(r) for r in range(rows)]
                 for n in range(draw.choice([1, 2, 6]))}  # fmt: skip
        admitted = table.admission.admit(batch_of([Message(0, row, row, 0) for row in range(rows)]))
        sealed = SealedBatch("orders", (Piece(TopicPartition("orders", 0), admitted.rows, admitted.offsets),),
                             table.columns, table.dedup, None)  # fmt: skip
        filler = {f"a_column_with_a_name_{n}": [None] * rows for n in range(wide)}
        sealed = keyed(with_columns(sealed, {**texts, **filler}), "id", *texts)
        ours, theirs = staged_again(RealTables(table.columns), sealed)
        assert replace(theirs, key_bounds=()) == replace(ours, key_bounds=()), seed
        assert set(theirs.key_bounds) <= set(ours.key_bounds), seed
