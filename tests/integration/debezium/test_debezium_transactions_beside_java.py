"""Debezium's own connector and ours tell the same transactions: where they begin and end, and each event's place."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from debezium_ours import OurRun
from debezium_peer import Records, create, java_worker
from debezium_shop import Shop

from connect.tools.services import KafkaEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
SETTINGS = {
    "snapshot.mode": "no_data", "provide.transaction.metadata": "true",
    "table.include.list": "shop.numbers,shop.others",
}  # fmt: skip
TRANSACTIONS = (
    ("INSERT INTO shop.numbers VALUES (1, 1), (2, 2)", "INSERT INTO shop.others VALUES (1)"),
    (
        "UPDATE shop.numbers SET n = n + 1 WHERE id > 0", "DELETE FROM shop.numbers WHERE id = 1",
        "INSERT INTO shop.others VALUES (2)",
    ),
    ("UPDATE shop.numbers SET id = 20 WHERE id = 2", "INSERT INTO shop.orders VALUES (77)"),
    ("INSERT INTO shop.others SELECT id + 100 FROM shop.others",),
    ("INSERT INTO shop.numbers VALUES (999999, 0)",),
)  # fmt: skip
_OTHERS = 4
"""The transactions add so many rows to shop.others."""


@pytest.fixture(params=["postgres", "mysql"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with ExitStack() as stack:
        yield Shop(request.param, stack)


def _transaction(id_: str) -> str:
    """Return what is the same in all names of a transaction: PostgreSQL's tell a place in the log as well."""
    return id_ if "-" in id_ else id_.partition(":")[0]


def _told(found: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return by topic what records tell of transactions, behind those that only showed that it streams."""
    made: dict[str, list[Any]] = {}
    ours: set[str] = set()
    for table in ("shop.numbers", "shop.others"):
        for record in found.get(table, ()):
            payload = record["value"] and record["value"]["payload"]
            row = payload and (payload["after"] or payload["before"])
            if row and row["id"] > 0:
                made.setdefault(table, []).append((payload["op"], row["id"], payload["transaction"]))
                ours.add(_transaction(payload["transaction"]["id"]))
    for record in found.get("transaction", ()):
        value, key = record["value"]["payload"], record["key"]
        if _transaction(value["id"]) in ours:
            collections = value["data_collections"] and sorted(
                (one["data_collection"], one["event_count"]) for one in value["data_collections"]
            )
            told = {**value, "data_collections": collections, "ts_ms": type(value["ts_ms"]).__name__}
            made.setdefault("transaction", []).append((key, told, record["value"]["schema"], record["headers"]))
    return made


def _is_whole(found: Mapping[str, Any]) -> bool:
    told = _told(found)
    last = [transaction["id"] for _, row, transaction in told.get("shop.numbers", ()) if row == 999999]
    ends = {_transaction(value["id"]) for _, value, _, _ in told.get("transaction", ()) if value["status"] == "END"}
    # Each topic is read by itself, and one may be found later than the others.
    has_others = len(told.get("shop.others", ())) >= _OTHERS
    return has_others and bool(last) and _transaction(last[0]) in ends


def test_transactions_are_told_as_debezium_tells_them(shop: Shop, kafka: KafkaEndpoint, tmp_path: Path) -> None:
    name = f"dbztx_{secrets.token_hex(4)}"
    shop.run("CREATE TABLE shop.numbers (id int PRIMARY KEY, n int)", "CREATE TABLE shop.others (id int PRIMARY KEY)")
    with java_worker(kafka.bootstrap_servers, name, tmp_path / "java", shop.kind) as url:
        create(url, f"{name}_java", shop.config(f"{name}_java", kafka.bootstrap_servers, **SETTINGS))
        java = Records(kafka.bootstrap_servers, f"{name}_java")
        ours = OurRun(shop.config(f"{name}_ours", kafka.bootstrap_servers, **SETTINGS))
        shop.until_streaming([java.until_true, ours.until_true], "numbers")
        for statements in TRANSACTIONS:
            with shop.session() as run:
                for statement in ("BEGIN", *statements, "COMMIT"):
                    run(statement)
        for until_true in (java.until_true, ours.until_true):
            until_true(_is_whole)
        ours.close()
        java.close()
    assert _told(ours.found).keys() == _told(java.found).keys() == {"shop.numbers", "shop.others", "transaction"}
    for topic, told in _told(java.found).items():
        assert _told(ours.found)[topic] == told, topic
