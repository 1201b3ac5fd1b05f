"""Checks the model of Google's billing against examples counted by hand from its rules.

https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax#on-demand_query_size_calculation
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bigquery_modes import picture

from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.costs import CostQuestion
from connectors.bigquery.cost.asking import table_costs
from connectors.bigquery.cost.billing import LEAST_BYTES, Searched, insert_all_bytes, merge_bytes
from connectors.bigquery.cost.plan import TableSize, Traffic, compactions_a_day, merges_a_day, plan
from connectors.bigquery.cost.prices import Prices, list_prices_in, prices_in, prices_of
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.table_facts import TableFacts

pytestmark = pytest.mark.quick
GIB, TIB = 2**30, 2**40
LARGE = TableSize(rows=5 * TIB // 1024, total_bytes=5 * TIB)
RANDOM_KEYS = Traffic(rows_per_day=100_000_000, row_bytes=1024, interval_s=72.0, batch_rows=500_000_000)


def costs(size, traffic, prices=None):
    return {cost.mode: cost for cost in plan(size, traffic, prices or Prices())}


def test_a_merge_that_changes_rows_reads_named_columns_and_the_whole_of_what_it_changes():
    # 1,000,000 rows of 1,000 bytes, of which 40 are named; 20 MiB are staged.
    target = Searched(rows=1_000_000, total_bytes=10**9, named_bytes_per_row=40)
    staged = 20 * 2**20
    assert merge_bytes(target, staged, changes_rows=True) == 40_000_000 + staged + 10**9
    assert merge_bytes(target, staged, changes_rows=False) == 40_000_000 + staged


def test_a_statement_is_billed_for_ten_mebibytes_of_each_table_at_least():
    assert merge_bytes(Searched(10, 1000, 40), 100, changes_rows=False) == 2 * LEAST_BYTES == 20_971_520
    assert merge_bytes(Searched(10, 1000, 40), 100, changes_rows=False, staging_tables=4) == 5 * LEAST_BYTES


def test_insert_all_bills_a_row_as_a_kibibyte_at_least():
    assert insert_all_bytes(3, 10) == 3072
    assert insert_all_bytes(3, 2000) == 6000


def test_random_keys_in_five_terabytes_cost_37_000_usd_a_day_by_fifty_merges_an_hour():
    # 1,200 merges x 5 TiB = 6,000 TiB; x 6.25 USD = 37,500, and 40 of 1,024 bytes of each row once more.
    assert merges_a_day(RANDOM_KEYS, 72.0) == 1200
    found = costs(LARGE, RANDOM_KEYS)["merge, every 1.2 min"]
    assert found.bytes_per_day == pytest.approx(6000 * TIB * (1 + 40 / 1024), rel=0.001)
    assert found.usd_per_day == pytest.approx(37_000, rel=0.06)
    assert not found.fits


def test_the_example_of_the_readme_is_what_the_model_says():
    # 1,440 x (104,857,600 x 40 bytes + 100 GiB) and the 20 GiB a day that are staged: 146 TiB, 914 USD.
    size = TableSize(104_857_600, 100 * GIB, partitions=30)
    traffic = Traffic(20 * 2**20, 1024, interval_s=60.0, batch_rows=500_000)
    found = costs(size, traffic)
    assert found["merge, every 1 min"].bytes_per_day == pytest.approx(146.1 * TIB, rel=0.001)
    assert found["merge, every 10 min"].bytes_per_day == pytest.approx(14.6 * TIB, rel=0.01)
    # Two of thirty partitions are in reach of a day.
    assert found["merge, window of 1d"].bytes_per_day == pytest.approx(146.1 / 15 * TIB, rel=0.01)
    # 8 bytes of each row alone: 1,440 x 800 MiB.
    assert found["merge, keep=first"].bytes_per_day == pytest.approx(1.1 * TIB, rel=0.02)
    assert found["none, insertAll"].usd_per_day == pytest.approx(20 * 0.05)
    assert found["cdc"].usd_per_day == pytest.approx(20 * 0.025)
    assert found["cdc"].is_lower_bound
    assert found["view"].is_lower_bound
    assert found["none, load jobs"].usd_per_day == 0
    # 100 GiB, 40 bytes of each of its rows and of those of the log, and the log of a day twice: merged and deleted.
    assert found["compact, once a day"].bytes_per_day == pytest.approx(144.7 * GIB, rel=0.002)
    assert [name for name, cost in found.items() if cost.fits] == ["compact, window of 1d"]


def test_a_log_brings_random_keys_in_five_terabytes_to_less_than_60_usd_and_a_window_of_a_day_to_less_than_10():
    found = costs(LARGE, RANDOM_KEYS)
    # 5 TiB are rewritten, 40 of 1,024 bytes of each row are read, and 95 GiB of log twice: 5.4 TiB.
    assert found["compact, once a day"].usd_per_day == pytest.approx(33.6, abs=0.5)
    assert found["compact, once a day"].fits
    fifty_days = replace(LARGE, partitions=50)
    assert costs(fifty_days, RANDOM_KEYS)["compact, window of 1d"].usd_per_day < 10


def test_compactions_that_are_set_more_often_are_priced_as_often():
    hourly = costs(LARGE, replace(RANDOM_KEYS, compact_s=3600.0))
    # 24 MERGEs of 5 TiB and 40 of 1,024 bytes of each row; 95 GiB of log are read twice, whatever is set.
    assert "compact, once a day" not in hourly
    found = hourly["compact, 24x a day"]
    assert found.bytes_per_day == pytest.approx(24 * 5 * TIB * (1 + 40 / 1024) + 2 * 102_400_000_000, rel=0.001)
    assert found.usd_per_day == pytest.approx(780, rel=0.01)
    weekly = costs(LARGE, replace(RANDOM_KEYS, compact_s=7 * 86_400.0))["compact, every 7 days"]
    assert weekly.usd_per_day == pytest.approx(780 / 24 / 7, rel=0.3)


def test_a_log_that_soon_has_its_part_of_the_table_is_merged_as_soon():
    size, daily = TableSize(100_000_000, 100 * GIB), replace(RANDOM_KEYS, rows_per_day=200_000_000)
    assert compactions_a_day(size, daily) == 8.0  # 25,000,000 rows come every three hours
    assert compactions_a_day(size, replace(daily, compact_percent=100)) == 2.0
    found = costs(size, daily)["compact, 8x a day"]
    log = 200_000_000 * 1024
    # The log is merged and deleted, and 40 bytes of each of its rows are read for the list of batches.
    assert found.bytes_per_day == pytest.approx(8 * (100 * GIB + 4 * 10**9) + 2 * log + 200_000_000 * 40, rel=0.001)
    assert found.bytes_at_once == pytest.approx(100 * GIB + 4 * 10**9 + log / 8, rel=0.001)


def test_a_log_is_merged_once_for_each_load_at_most():
    small = TableSize(1000, 100_000)
    assert compactions_a_day(small, RANDOM_KEYS) == 96
    assert compactions_a_day(small, replace(RANDOM_KEYS, load_s=3600.0, compact_s=1.0)) == 24
    assert compactions_a_day(small, replace(RANDOM_KEYS, rows_per_day=3)) == 1
    assert compactions_a_day(TableSize(0, 0), RANDOM_KEYS) == 1
    assert compactions_a_day(small, replace(RANDOM_KEYS, rows_per_day=0)) == 0


def test_a_small_table_is_merged_as_it_is_set():
    found = costs(TableSize(1000, 100_000), Traffic(1000, 100, interval_s=600.0, batch_rows=500_000))
    (fits,) = (cost for cost in found.values() if cost.fits)
    assert fits.mode == "merge, every 10 min"
    assert fits.usd_per_day < 1
    assert "small" in fits.why


def test_each_task_that_stages_rows_for_a_merge_is_counted_with_its_table():
    small = TableSize(1000, 100_000)
    traffic = Traffic(86_400, 100, interval_s=60.0, batch_rows=500_000, tasks=10)
    few = replace(traffic, rows_per_day=2880)
    # 1,440 merges rewrite the table, and name it and ten staging tables of 6 rows each, or two: 10 MiB for each one.
    assert costs(small, traffic)["merge, every 1 min"].bytes_per_day == 1440 * (11 * LEAST_BYTES + 100_000)
    assert costs(small, few)["merge, every 1 min"].bytes_per_day == 1440 * (3 * LEAST_BYTES + 100_000)


def test_what_a_merge_reads_of_remembered_deletes_is_counted_unless_the_first_record_is_kept():
    small, traffic = TableSize(1000, 100_000), Traffic(86_400, 100, interval_s=60.0, batch_rows=500_000, memories=1)
    found = costs(small, traffic)
    assert found["merge, every 1 min"].bytes_per_day == 1440 * (3 * LEAST_BYTES + 100_000)
    assert found["merge, keep=first"].bytes_per_day == 1440 * 2 * LEAST_BYTES


def test_a_table_without_partitions_has_no_window_and_no_records_cost_nothing():
    assert not any("window" in name for name in costs(LARGE, RANDOM_KEYS))
    idle = costs(LARGE, replace(RANDOM_KEYS, rows_per_day=0))
    assert {cost.usd_per_day for cost in idle.values()} == {0.0}


def test_full_batches_are_merged_before_their_time():
    assert merges_a_day(replace(RANDOM_KEYS, batch_rows=1000), 3600.0) == 100_000


def test_batches_of_as_many_bytes_as_a_task_may_hold_are_merged_and_loaded_before_their_time():
    # 102.4 GB come a day, in batches of 64 MiB, whatever the interval is.
    found = costs(LARGE, replace(RANDOM_KEYS, batch_bytes=64 * 2**20, load_s=3600.0))
    hourly = found["merge, every 60 min"]
    assert hourly.usd_per_day == pytest.approx(found["merge, every 1.2 min"].usd_per_day)
    assert "1,526 merges a day, as batches are full before their time" in hourly.why
    compact = found["compact, once a day"]
    assert "1,526 load jobs a day are asked for, and BigQuery takes 1,500 of a table: batches wait" in compact.why
    assert "batches" not in costs(LARGE, replace(RANDOM_KEYS, batch_bytes=256 * 2**20))["compact, once a day"].why


def test_more_load_jobs_than_a_table_takes_are_said_with_how_fresh_its_view_is():
    small, often = TableSize(1000, 100_000), replace(RANDOM_KEYS, load_s=1.0)
    (told,) = (cost for name, cost in costs(small, often).items() if name.startswith("compact"))
    assert "86,400 load jobs a day are asked for, and BigQuery takes 1,500 of a table: batches wait" in told.why
    assert (told.mode, told.freshness) == ("compact, 1,350x a day", "1.1 min + seconds")
    (four,) = (cost for name, cost in costs(small, replace(often, tasks=4)).items() if name.startswith("compact"))
    assert (four.mode, four.freshness) == ("compact, 1,350x a day", "4.3 min + seconds")
    # 1,000 records a day need no more load jobs.
    (few,) = (c for name, c in costs(small, replace(often, rows_per_day=1000)).items() if name.startswith("compact"))
    assert "load jobs" not in few.why
    assert few.freshness == "1 s + seconds"


def test_slots_are_paid_whatever_is_read():
    found = costs(LARGE, RANDOM_KEYS, prices_of({"slots": 100, "slot_hour": 0.05}))
    assert found["merge, every 1.2 min"].usd_per_day == pytest.approx(120.0)
    assert found["merge, every 60 min"].usd_per_day == pytest.approx(120.0)


def test_every_wrong_price_is_named_at_once():
    with pytest.raises(ConfigError) as refused:
        prices_of({"query_tib": -1, "slot_hour": "much", "tib": 5, "slots": True, "insert_all_gib": float("nan")})
    text = str(refused.value)
    for part in ("query_tib is -1 (int)", "slot_hour is 'much' (str)", "'tib' is no price", "slots is True", "nan"):
        assert part in text
    assert "storage_write_gib" in text
    assert prices_of({"query_tib": 5}) == replace(Prices(), query_tib=5.0)


@pytest.mark.parametrize("text", [
    b"query_tib: [\n password: hunter2", b"query_tib: *hunter2", b"user: me\nkey: a: hunter2", b"\x00hunter2",
    b"- " * 3000 + b"hunter2", b"a: !hunter2 b",
])  # fmt: skip
def test_a_file_of_prices_that_is_another_file_does_not_show_what_it_holds(text):
    with pytest.raises(ConfigError, match=r"The prices in the file of prices cannot be read: it.* is no YAML") as found:
        prices_in(text, "prices")
    assert "hunter2" not in str(found.value)


def test_a_price_that_is_endless_by_aliases_is_told_by_its_type():
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 10)}]" for n in range(30)]
    with pytest.raises(ConfigError, match="query_tib is a list, and a price is a number"):
        prices_in("\n".join([*levels, "query_tib: *a29"]).encode(), "prices")


def test_the_list_prices_that_stand_in_for_missing_ones_are_named_and_no_others():
    given = list_prices_in(prices_in(b"query_tib: 5\ninsert_all_gib: 0.04\n", "prices"))
    assert given.startswith("List prices of the US")
    assert given.endswith("for storage_write_gib 0.025"), "slot_hour counts with slots alone"
    assert list_prices_in(Prices()).endswith("for query_tib 6.25, insert_all_gib 0.05, storage_write_gib 0.025")
    assert list_prices_in(Prices(slots=100)).endswith(
        "for insert_all_gib 0.05, storage_write_gib 0.025, slot_hour 0.06"
    )
    assert list_prices_in(Prices(5, 1, 1)) == ""


class OneByOne:
    """It looks at tables in turn."""

    def side_by_side(self, ask: Any, things: Any, at_once: int) -> list[Any]:
        return list(map(ask, things))


class Tables(OneByOne):
    """A dataset with one table, or with none."""

    def __init__(self, found: TableFacts | None) -> None:
        self._found = found

    def look(self) -> None:
        pass

    def table(self, name: str) -> TableFacts | None:
        return self._found if name == "orders" else None


def facts_of(found: TableFacts | None, rows_per_day: int, **others: str) -> str:
    given = {"project": "p", "defaultDataset": "d", "topics": "orders", "dedup.fields": "id", **others}
    config, question = BigQuerySinkConfig.parse(given), CostQuestion(rows_per_day, 1000)
    (cost,) = table_costs(config, Tables(found), question, 10 * 86_400)  # type: ignore[arg-type]
    return cost.facts


def test_what_a_new_table_will_cost_is_told_before_it_has_grown():
    # 30 days of 100 M rows of 1,000 bytes are 3 TB, which 1,491 merges a day of 64 MiB each read: 25,400 USD, and 40
    # bytes of each row once more.
    told = facts_of(None, 100_000_000)
    assert "In 30 days, if it gets 100,000,000 rows more a day, a day of merge, every 1 min costs about 26,4" in told
    assert "USD, and of compact, once a day 18." in told
    assert "In 30 days" not in facts_of(None, 1000), "a table that stays small"
    assert "In 30 days" not in facts_of(None, 100_000_000, **{"dedup.mode": "compact"}), "what is set fits"
    assert "In 30 days" not in facts_of(None, 100_000_000, **{"dedup.keep": "first", "dedup.delete": "ignore"})


@pytest.mark.parametrize(
    ("others", "tables"),
    [({}, 3), ({"dedup.tombstone.retention.ms": "0"}, 2), ({"dedup.delete": "ignore"}, 2), ({"tasks.max": "4"}, 6)],
)
def test_a_merge_of_a_small_table_is_told_by_the_tables_that_it_names(others, tables):
    given = {"project": "p", "defaultDataset": "d", "topics": "orders", "dedup.fields": "id", **others}
    config, found = BigQuerySinkConfig.parse(given), TableFacts("orders", (), {}, "", rows=1)
    (cost,) = table_costs(config, Tables(found), CostQuestion(10**6, 100), 10 * 86_400)  # type: ignore[arg-type]
    (is_set,) = (mode for mode in cost.modes if mode.is_set)
    assert is_set.bytes_at_once == tables * LEAST_BYTES


def test_a_table_grows_as_it_has_grown_so_far_when_most_records_are_updates():
    table = TableFacts("orders", (), {}, "", rows=10**6, total_bytes=10**9)
    assert "if it gets 100,000 rows more a day" in facts_of(table, 100_000_000, **{"dedup.mode": "merge"})


class UncountedPartitions(OneByOne):
    """A table of 30 days, whose INFORMATION_SCHEMA may not be read."""

    def path(self, table: str) -> str:
        return f"`p`.`d`.`{table}`"

    def look(self) -> None:
        pass

    def table(self, name: str) -> TableFacts | None:
        if name != "orders":
            return None
        return TableFacts(
            name, (), {}, "", rows=10**9, total_bytes=10**12, partitioning="DAY", partition_by="at", created_ms=0
        )

    def rows(self, sql: str, doing: str) -> list[dict[str, int]]:
        raise ConnectError("no right to read INFORMATION_SCHEMA")


def test_where_partitions_cannot_be_counted_as_many_are_assumed_as_the_table_is_old():
    config = BigQuerySinkConfig.parse({
        "project": "p", "defaultDataset": "d", "topics": "orders", "dedup.fields": "id", "dedup.mode": "merge",
        "dedup.window": "1d", "timestampPartitionFieldName": "at",
    })  # fmt: skip
    (cost,) = table_costs(config, UncountedPartitions(), CostQuestion(10**6, 1000), 30 * 86_400)  # type: ignore[arg-type]
    assert "assumed: 30 partitions, as old as it is, since they cannot be counted (no right" in cost.facts
    (as_set,) = (mode for mode in cost.modes if mode.is_set)
    assert as_set.mode == "merge, window of 1d"
    whole = next(mode for mode in cost.modes if mode.mode.startswith("merge, every"))
    assert as_set.bytes_per_day < whole.bytes_per_day / 10


def test_the_picture_of_the_modes_shows_what_the_model_says():
    """`python docs/site/bigquery_modes.py > docs/bigquery-modes.svg` draws it anew."""
    drawn = (Path(__file__).parents[3] / "docs/bigquery-modes.svg").read_text(encoding="utf-8")
    assert drawn == picture()
    assert ">913.36<" in drawn
