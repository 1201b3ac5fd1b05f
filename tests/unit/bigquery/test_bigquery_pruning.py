"""Checks what a MERGE lets BigQuery leave out, by the plain model of its billing: by literal bounds of partitions and
keys.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import duckdb
import pyarrow as pa
import pytest
from bigquery_oracle import EPOCH, Message, batch_of
from bigquery_sql import SqlTable, config
from hypothesis import given
from hypothesis import strategies as st

from connectors.bigquery.cost.billing import LEAST_BYTES, Searched, merge_bytes
from connectors.bigquery.dedup import key_bounds as module
from connectors.bigquery.dedup.key_bounds import key_bounds, united
from connectors.bigquery.dedup.merge_sql import Bound
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType

pytestmark = pytest.mark.quick
DAYS, DAY_S = 30, 86_400
ROWS_A_DAY, ROW_BYTES, NAMED_BYTES = 50_000_000, 1024, 40
LITERAL = re.compile(r"AND \(T\.\"at\" >= TIMESTAMP '([^']+)' OR T\.\"at\" IS NULL\)")


def billed(searched_days: int) -> int:
    rows = searched_days * ROWS_A_DAY
    return merge_bytes(Searched(rows, rows * ROW_BYTES, NAMED_BYTES), LEAST_BYTES, changes_rows=True)


def statements(table: SqlTable, run: list[Message]) -> list[str]:
    """The statements that search the table for the rows of a batch."""
    admitted = table.admission.admit(batch_of(run), table.newest_us)
    assert table.window is not None
    assert admitted.oldest_us is not None
    bound = Bound(table.window.column, table.window.bound(admitted.oldest_us))
    merge = replace(table.merge_of(("staged",)), bound=bound)
    return [merge.text(), merge.append(), *(merge.clear("now()")[-1:] if merge.has_clears else ())]


def days_searched(sql: str) -> int:
    """How many of the days 0 to 29 BigQuery reads: those from the day of a constant on."""
    found = LITERAL.search(sql)
    if found is None:
        return DAYS
    return DAYS - max(0, (datetime.fromisoformat(found[1]) - EPOCH).days)


@pytest.mark.parametrize("order", [{}, {"order_by": "version"}], ids=["time", "version"])
def test_a_window_of_a_day_reads_two_days_of_thirty_by_every_statement(order):
    table = SqlTable(config(window="1d", **order))
    now_s = (DAYS - 1) * DAY_S + 3600
    run = [Message(0, 0, 1, now_s, at_s=now_s), Message(0, 1, 2, now_s + 60, at_s=now_s + 60)]
    for sql in statements(table, run):
        assert days_searched(sql) == 2, sql
        assert billed(days_searched(sql)) < billed(DAYS) / 10


def test_a_late_row_widens_the_bound_to_its_window_and_no_further():
    table = SqlTable(config(window="1d"))
    now_s, late_s = (DAYS - 1) * DAY_S + 3600, 10 * DAY_S + 3600
    run = [Message(0, 0, 1, now_s, at_s=now_s), Message(0, 1, 2, late_s, at_s=late_s)]
    assert {days_searched(sql) for sql in statements(table, run)} == {DAYS - 9}


BLOCK_ROWS, BLOCKS = 1_000_000, 1_500
"""The model's blocks: a table that is clustered by a number has so many rows of the next numbers in each."""


def blocks_read(sql: str) -> int:
    """How many blocks BigQuery reads: those that may hold a value of a constant of the ON clause."""
    if found := re.search(r'AND T\."id" BETWEEN (-?\d+) AND (-?\d+)', sql):
        least, most = (int(number) // BLOCK_ROWS for number in found.groups())
        return len(range(max(0, least), min(BLOCKS - 1, most) + 1))
    if found := re.search(r'AND T\."id" IN \(([^)]*)\)', sql):
        return len({int(number) // BLOCK_ROWS for number in found[1].split(", ")})
    return BLOCKS


def billed_blocks(blocks: int) -> int:
    rows = blocks * BLOCK_ROWS
    return merge_bytes(Searched(rows, rows * ROW_BYTES, NAMED_BYTES), LEAST_BYTES, changes_rows=True)


def merge_of(*batches: list[int], **dedup: str) -> list[str]:
    """The statements that search the table for the rows of some batches that are merged together."""
    table = SqlTable(config(**dedup))
    runs = [[Message(part, n, key, n, text=None) for n, key in enumerate(keys)] for part, keys in enumerate(batches)]
    merge = table.staged(runs)
    return [merge.text(), *(merge.clear("now()")[-1:] if merge.has_clears else ())]


@pytest.mark.parametrize("order", [{}, {"order_by": "version"}], ids=["time", "version"])
def test_few_keys_read_their_own_blocks_and_many_that_grow_with_time_the_last_ones(order):
    few = merge_of([5, 1_400_000_001], [700_000_000, 5], **order)
    assert {blocks_read(sql) for sql in few} == {3}
    newest = range(1_499_000_500, 1_499_000_500 + 150)
    grown = merge_of(list(newest[:60]), list(newest[60:]), **order)
    assert {blocks_read(sql) for sql in grown} == {1}
    assert billed_blocks(1) < billed_blocks(BLOCKS) / 1000


def test_rows_without_a_key_are_looked_for_everywhere():
    table = SqlTable(config(null_key="append"))
    merge = table.staged([[Message(0, 0, None, 0), Message(0, 1, 7, 0)]])
    assert blocks_read(merge.text()) == 1
    assert blocks_read(merge.append()) == BLOCKS


KEYS = {
    ColumnType.INTEGER: (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    ColumnType.DATE: (pa.date32(), st.dates()),
    ColumnType.STRING: (pa.string(), st.text(st.characters(exclude_characters="\\'\n\r\0", codec="utf-8"), max_size=3)),
}
"""DuckDB knows none of the escapes of BigQuery's texts."""


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
def test_no_key_is_left_out_however_batches_are_bounded(kind, data):
    arrow, keys = KEYS[kind]
    batches = data.draw(st.lists(st.lists(st.none() | keys, min_size=1, max_size=6), min_size=1, max_size=4))
    tables = [pa.table({"id": pa.array(batch, arrow)}) for batch in batches]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "LISTED_MOST", data.draw(st.integers(1, 8)))
        bounds = united([key_bounds([table], [ColumnSchema("id", kind)], ["id"]) for table in tables])
    found = pa.chunked_array([table["id"].combine_chunks() for table in tables]).drop_null()
    rows = pa.table({"id": found})
    for bound in bounds:
        ((kept,),) = duckdb.sql(f"SELECT COUNT(*) FROM rows WHERE {bound.sql('id')}").fetchall()
        assert kept == len(rows)


@pytest.mark.parametrize("text", ["a\0b", "\x1b[0m", "\x7f", "a\u2028b"])
def test_a_text_that_stands_badly_in_a_statement_bounds_nothing(text):
    columns = (ColumnSchema("id", ColumnType.STRING),)
    (plain,) = key_bounds([pa.table({"id": ["a", "😀 'quoted'"]})], columns, ["id"])
    assert set(plain.values) == {"a", "😀 'quoted'"}
    assert key_bounds([pa.table({"id": ["a", text]})], columns, ["id"]) == ()
    staged_before = plain._replace(values=(text,))
    assert united([[plain], [staged_before]]) == ()
