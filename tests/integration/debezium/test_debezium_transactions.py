"""Each event's place in its transaction is the same however the log is cut into chunks and the task breaks off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from debezium_shop import Shop

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.timeout(300)
SETTINGS = {
    "snapshot.mode": "no_data", "provide.transaction.metadata": "true",
    "table.include.list": "shop.numbers,shop.others",
}  # fmt: skip
LAST = 999_999


@pytest.fixture(params=["postgres", "mysql", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with ExitStack() as stack:
        shop = Shop(request.param, stack)
        shop.run(
            "CREATE TABLE shop.numbers (id int PRIMARY KEY, n int)", "CREATE TABLE shop.others (id int PRIMARY KEY)"
        )
        yield shop


def _write(shop: Shop) -> None:
    with shop.session() as run:
        for number in range(4):
            run("BEGIN")
            for row in range(number * 10, number * 10 + 10):
                run(f"INSERT INTO shop.numbers VALUES ({row}, 0)")
                run(f"INSERT INTO shop.{'others' if row % 3 else 'orders'} VALUES ({row + 100})")
            run(f"UPDATE shop.numbers SET id = id + 1000 WHERE id = {number * 10}")
            run(f"DELETE FROM shop.numbers WHERE id = {number * 10 + 1}")
            run("COMMIT")
        run(f"INSERT INTO shop.numbers VALUES ({LAST}, 0)")


def _transaction(id_: str) -> str:
    """Return what is the same in all names of a transaction: PostgreSQL's tell a place in the log as well."""
    return id_ if "-" in id_ else id_.partition(":")[0]


def _events(found: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return transaction, place, table, operation and key of each event, by transaction and place."""
    made = []
    for table in ("shop.numbers", "shop.others"):
        for record in found.get(table, ()):
            if record["value"] is not None:
                payload = record["value"]["payload"]
                at, row = payload["transaction"], (payload["after"] or payload["before"])["id"]
                place = (at["total_order"], at["data_collection_order"])
                made.append((_transaction(at["id"]), *place, table, payload["op"], row))
    return sorted(made)


def _told(found: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    values = [record["value"]["payload"] for record in found.get("transaction", ())]
    return [(v["status"], v["id"], v["event_count"], sorted(map(str, v["data_collections"] or ()))) for v in values]


def _has_all(found: Mapping[str, Any]) -> bool:
    last = {transaction for transaction, *_, row in _events(found) if row == LAST}
    return bool(last & {_transaction(id_) for status, id_, *_ in _told(found) if status == "END"})


def test_places_in_transactions_stay_where_the_task_breaks_off(shop: Shop) -> None:
    first = shop.connector(**SETTINGS)
    first.until_true(lambda _: bool(first.offsets))
    offsets = dict(first.offsets)
    first.close()
    slot = {"slot.name": "whole", "publication.name": "whole"} if shop.kind == "postgres" else {}
    whole = shop.connector(**SETTINGS, **slot)
    whole.until_true(lambda _: bool(whole.offsets))
    _write(shop)
    whole.until_true(_has_all)
    whole.close()
    cut: dict[str, list[Any]] = {}
    runs = 0
    while not _has_all(cut):
        run = shop.connector(offsets, **SETTINGS, **{"max.batch.size": "4"})
        run.found = cut
        limit = Deadline.after(20)
        before = sum(map(len, cut.values()))
        # Some batches, and what is stored behind them is what the next run begins with.
        while sum(map(len, cut.values())) < before + 7 and not limit.expired and not _has_all(cut):
            with suppress(RetriableError):
                run.poll()
        offsets = dict(run.offsets)
        run.close()
        runs += 1
        assert not limit.expired
    assert runs > 5
    assert _events(cut) == _events(whole.found)
    assert _told(cut) == _told(whole.found)
    by_transaction: dict[str, list[int]] = {}
    for xid, place, *_ in _events(cut):
        by_transaction.setdefault(xid, []).append(place)
    assert all(places == list(range(1, len(places) + 1)) for places in by_transaction.values())
    counts = [len(places) for places in by_transaction.values()]
    assert sorted(count for status, _, count, _ in _told(cut) if status == "END") == sorted(counts)
