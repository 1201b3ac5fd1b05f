"""What a MERGE lets BigQuery leave out, by the plain model of its billing: partitions by literal bounds."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import pytest
from bigquery_oracle import EPOCH, Message, batch_of
from bigquery_sql import SqlTable, config

from connectors.bigquery.cost.billing import LEAST_BYTES, Searched, merge_bytes
from connectors.bigquery.dedup.merge_sql import Bound

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
