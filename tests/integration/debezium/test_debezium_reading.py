"""Checks when Debezium's connectors read tables, which of them, and what they do at a heartbeat, as their settings
say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from debezium_ours import OurRun
from debezium_shop import Shop

pytestmark = pytest.mark.timeout(300)
Found = Mapping[str, Sequence[Mapping[str, Any]]]


@pytest.fixture(params=["postgres", "mysql", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with ExitStack() as stack:
        yield Shop(request.param, stack)


def _rows(found: Found, table: str = "orders") -> list[tuple[str, int]]:
    payloads = [record["value"]["payload"] for record in found.get(f"shop.{table}", ())]
    return [(payload["op"], payload["after"]["id"]) for payload in payloads]


def _until(run: OurRun, *rows: tuple[str, int]) -> None:
    found = run.until_true(lambda found: len(_rows(found)) >= len(rows))
    run.close()
    assert _rows(found) == [*rows]


def test_tables_are_read_at_each_start_where_the_mode_says_always(shop: Shop) -> None:
    first = shop.connector(**{"snapshot.mode": "always"})
    first.until_true(lambda found: len(_rows(found)) == 1)
    shop.run("INSERT INTO shop.orders VALUES (2)")
    _until(first, ("r", 1), ("c", 2))
    shop.run("INSERT INTO shop.orders VALUES (3)")
    again = shop.connector(first.offsets, **{"snapshot.mode": "always"})
    again.until_true(lambda found: len(_rows(found)) == 3)
    shop.run("INSERT INTO shop.orders VALUES (4)")
    _until(again, ("r", 1), ("r", 2), ("r", 3), ("c", 4))


def test_a_mode_that_is_based_on_further_settings_reads_what_they_say(shop: Shop) -> None:
    of_log = {"snapshot.mode": "configuration_based", "snapshot.mode.configuration.based.start.stream": "true"}
    without_rows = shop.connector(**of_log)
    without_rows.until_true(lambda _: bool(without_rows.offsets))
    shop.run("INSERT INTO shop.orders VALUES (2)")
    _until(without_rows, ("c", 2))
    of_both = {**of_log, "snapshot.mode.configuration.based.snapshot.data": "true"}
    _until(shop.connector(without_rows.offsets, **of_both), ("r", 1), ("r", 2))


def test_rows_of_the_listed_tables_alone_are_read_first(shop: Shop) -> None:
    shop.run("CREATE TABLE shop.items (id int PRIMARY KEY)", "INSERT INTO shop.items VALUES (1)")
    run = shop.connector(**{"snapshot.include.collection.list": r"shop\.ITEMS"})
    run.until_true(lambda found: len(_rows(found, "items")) == 1)
    shop.run("INSERT INTO shop.orders VALUES (2)")
    _until(run, ("c", 2))


def test_a_query_gives_the_rows_of_the_first_read(shop: Shop) -> None:
    shop.run("INSERT INTO shop.orders VALUES (2), (3), (4)")
    query = {
        "snapshot.select.statement.overrides": "shop.orders", "max.batch.size": "1",
        "snapshot.select.statement.overrides.shop.orders": "SELECT * FROM shop.orders WHERE id % 2 = 0;",
    }  # fmt: skip
    run = shop.connector(**query)
    run.until_true(lambda found: len(_rows(found)) == 2)
    shop.run("INSERT INTO shop.orders VALUES (5)")
    _until(run, ("r", 2), ("r", 4), ("c", 5))


def test_a_statement_runs_at_each_heartbeat_and_a_bad_one_ends_nothing(shop: Shop) -> None:
    shop.run("CREATE TABLE shop.beats (id int PRIMARY KEY, at varchar(9))")
    beats = {"heartbeat.interval.ms": "200", "skipped.operations": "none"}
    statement = "INSERT INTO shop.beats SELECT 1 + count(*), '100%' FROM shop.beats"
    run = shop.connector(**beats, **{"heartbeat.action.query": statement})
    found = run.until_true(lambda found: len(_rows(found, "beats")) >= 3)
    run.close()
    assert _rows(found, "beats")[:3] == [("c", 1), ("c", 2), ("c", 3)]
    bad = shop.connector(**beats, **{"heartbeat.action.query": "INSERT INTO shop.nowhere VALUES (1)"})
    bad.until_true(lambda found: len(found.get("__debezium-heartbeat.reading", ())) >= 2)
    shop.run("INSERT INTO shop.orders VALUES (7)")
    bad.until_true(lambda found: ("c", 7) in _rows(found))
    bad.close()
