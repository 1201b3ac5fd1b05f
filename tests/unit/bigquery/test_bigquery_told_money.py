"""The money that is told for a day comes near what its statements are billed for, by a plain model of Google's rules:
a statement reads the columns that it names of each table, and all columns of the table that it changes.

https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax#on-demand_query_size_calculation
"""

from __future__ import annotations

import random
import re
from typing import Final

import pytest
from bigquery_oracle import Message
from plain_bigquery import PlainBigQuery, sql_of
from test_bigquery_compaction import Life, Prompt

from connectors.bigquery.cost import billing
from connectors.bigquery.cost.plan import TableSize, Traffic, as_set, plan
from connectors.bigquery.cost.prices import Prices
from connectors.bigquery.warehouse import jobs

ROWS, BATCHES, BATCH_ROWS = 1000, 4, 100
TEXT: Final = "x" * 930
"""It makes rows of about a kibibyte."""
_BYTES: Final = {"INTEGER": "8", "TIMESTAMP": "8", "BOOLEAN": "1", "STRING": '2 + strlen("{0}")'}


class BillingBigQuery(PlainBigQuery):
    """The model of the service, which bills by the bytes of columns. Small tables count as they are."""

    def cost_of(self, sql: str) -> int:
        return 0 if sql.startswith("CREATE") else sum(self._read(sql, table) for table in self.tables)

    def bytes_of(self, table: str) -> int:
        return sum(self._columns(table).values())

    def _read(self, sql: str, table: str) -> int:
        """What a statement reads of a table. What a MERGE does to rows is told behind its first WHEN."""
        if sql_of(table) not in sql:
            return 0
        changes = re.match(rf"(?:MERGE INTO|DELETE FROM) {re.escape(sql_of(table))}", sql) is not None
        if changes and re.search(r"THEN (?:UPDATE|DELETE)|^DELETE", sql):
            named = {name for name in self._columns(table) if f'T."{name}"' in sql}
            return self.bytes_of(table) + sum(size for name, size in self._columns(table).items() if name in named)
        alias = 'T."{}"' if changes or f"{sql_of(table)} AS T" in sql else '"{}"'
        return sum(size for name, size in self._columns(table).items() if alias.format(name) in sql)

    def _columns(self, table: str) -> dict[str, int]:
        fields = self.tables[table].resource["schema"]["fields"]
        sizes = ", ".join(
            f'CAST(COALESCE(SUM(CASE WHEN "{name}" IS NULL THEN 0 ELSE {_BYTES[field["type"]].format(name)} END), 0)'
            f' AS BIGINT) AS "{name}"'
            for field in fields
            if (name := field["name"])
        )
        (found,) = self.database.sql(f"SELECT {sizes} FROM {sql_of(table)}").to_arrow_table().to_pylist()
        return {name: int(size) for name, size in found.items()}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> BillingBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    monkeypatch.setattr(billing, "LEAST_BYTES", 0)
    return BillingBigQuery(Prompt(1))


def batches(first_offset: int, count: int) -> list[list[Message]]:
    """Batches of random keys, most of which are in the table."""
    draw, found, offset = random.Random(1), [], first_offset
    for _ in range(count):
        ids = draw.sample(range(ROWS), BATCH_ROWS)
        found.append([Message(0, offset + n, key, 1000 + offset + n, text=TEXT) for n, key in enumerate(ids)])
        offset += BATCH_ROWS
    return found


WAYS: dict[str, tuple[dict[str, str], bool]] = {
    "merge": ({"dedup.mode": "merge"}, False),
    "first": ({"dedup.mode": "merge", "dedup.keep": "first", "dedup.delete": "ignore"}, True),
    "compact": ({"dedup.mode": "compact", "dedup.compact.interval.ms": "86400000"}, False),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_money_told_for_a_day_is_near_what_its_statements_are_billed_for(service, way):
    settings, keeps_first = WAYS[way]
    Life(service, **{**settings, "dedup.mode": "merge"}).load(
        [Message(0, number, number, number, text=TEXT) for number in range(ROWS)]
    )
    size = TableSize(ROWS, service.bytes_of("orders"))
    row_bytes = size.total_bytes // size.rows
    if way == "compact":
        Life(service, **settings).load(*batches(ROWS, BATCHES))
        service.billed.clear()
        last = Life(service, **{**settings, "dedup.compact.interval.ms": "0"})
        last.load([Message(0, ROWS + BATCHES * BATCH_ROWS, 0, 10**6, text=TEXT)])
        last.writer.collect()
    else:
        day = Life(service, **settings)
        service.billed.clear()
        day.load(*batches(ROWS, BATCHES))
    # The log is compacted once in the day that is tried, whatever part of the table's rows it has.
    traffic = Traffic(
        BATCHES * BATCH_ROWS, row_bytes, interval_s=86_400 / BATCHES, batch_rows=10**6, compact_percent=10_000
    )
    mode = settings["dedup.mode"]
    costs = as_set(plan(size, traffic, Prices()), mode, keeps_first=keeps_first, has_window=False)
    (told,) = (cost for cost in costs if cost.is_set)
    billed_usd = sum(billed for _, _, billed in service.billed) / 2**40 * Prices().query_tib
    assert told.usd_per_day == pytest.approx(billed_usd, rel=0.1), f"{told.usd_per_day / billed_usd:.2f} times"


@pytest.mark.parametrize("memories", [0, 1])
def test_a_compaction_of_a_small_log_is_told_by_each_table_that_its_statements_name(monkeypatch, memories):
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    service, given = PlainBigQuery(Prompt(1)), {} if memories else {"dedup.tombstone.retention.ms": "0"}
    Life(service, **given).load([Message(0, number, number, number) for number in range(9)])
    compacting = Life(service, **given)
    compacting.load([Message(0, 9, 0, 10**6)])
    service.billed.clear()
    compacting.writer.collect()
    traffic = Traffic(1, 1, interval_s=60.0, batch_rows=1, memories=memories)
    (told,) = (cost for cost in plan(TableSize(0, 0), traffic, Prices()) if cost.mode.startswith("compact"))
    assert told.bytes_per_day == pytest.approx(sum(billed for _, _, billed in service.billed), rel=0.01)


def test_a_merge_with_deletes_is_billed_for_the_memory_of_them_and_its_rows_once_more(monkeypatch):
    """The README says so, as nothing tells beforehand how many batches have deletes."""
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    billed = []
    for text in ("kept", None):
        service = PlainBigQuery(Prompt(1))
        life = Life(service, **{"dedup.mode": "merge"})
        life.load([Message(0, 0, 0, 0)])
        service.billed.clear()
        life.load([Message(0, 1, 0, 1, text=text)])
        billed.append(sum(one for _, _, one in service.billed))
    assert billed[1] - billed[0] == 2 * billing.LEAST_BYTES
