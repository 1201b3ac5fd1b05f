"""Debezium's own connector and ours obey the same signal under a writer: rows read again and the end are the same."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from debezium_ours import OurRun
from debezium_peer import Records, create, java_worker
from debezium_shop import Run, Shop

from connect.tools.services import KafkaEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
ROWS = 1000
WRITTEN = range(100, 300)
"""Rows that are changed meanwhile: each reader may have them from the log alone."""


@pytest.fixture(params=["postgres", "mysql"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with ExitStack() as stack:
        yield Shop(request.param, stack)


def _state(found: Mapping[str, Any]) -> dict[int, int]:
    """What a sink has that takes each record by its key, without the rows that only showed that it streams."""
    rows: dict[int, int] = {}
    for record in found.get("shop.numbers", ()):
        number = record["key"]["payload"]["id"]
        after = record["value"] and record["value"]["payload"]["after"]
        rows.update({number: after["n"]}) if after else rows.pop(number, None)
    return {number: n for number, n in rows.items() if number >= 0}


def _again(found: Mapping[str, Any]) -> set[tuple[int, int, str]]:
    """Rows that were read again and nobody wrote, each with its operation."""
    payloads = [r["value"]["payload"] for r in found.get("shop.numbers", ()) if r["value"]]
    again = [p for p in payloads if p["source"]["snapshot"] == "incremental"]
    return {(p["after"]["id"], p["after"]["n"], p["op"]) for p in again if p["after"]["id"] not in WRITTEN}


def _change_written(run: Run, _number: int) -> None:
    """Change each row of WRITTEN, and put one of them in again."""
    for row in WRITTEN:
        run(f"UPDATE shop.numbers SET n = n + 1 WHERE id = {row}")
    run(f"DELETE FROM shop.numbers WHERE id = {WRITTEN[7]}")
    run(f"INSERT INTO shop.numbers VALUES ({WRITTEN[7]}, 0)")


def test_rows_that_a_signal_has_read_again_are_those_of_debezium(
    shop: Shop, kafka: KafkaEndpoint, tmp_path: Path
) -> None:
    name = f"dbzsignal_{secrets.token_hex(4)}"
    shop.run(
        "CREATE TABLE shop.numbers (id int PRIMARY KEY, n int)",
        "CREATE TABLE shop.signals (id varchar(42) PRIMARY KEY, type varchar(32), data varchar(2048))",
        "INSERT INTO shop.numbers VALUES " + ", ".join(f"({n}, {-n})" for n in range(ROWS)),
    )
    settings = {
        "snapshot.mode": "no_data", "signal.data.collection": "shop.signals", "incremental.snapshot.chunk.size": "50",
        "table.include.list": "shop.numbers,shop.signals",
    }  # fmt: skip
    with java_worker(kafka.bootstrap_servers, name, tmp_path / "java", shop.kind) as url:
        create(url, f"{name}_java", shop.config(f"{name}_java", kafka.bootstrap_servers, **settings))
        java = Records(kafka.bootstrap_servers, f"{name}_java")
        ours = OurRun(shop.config(f"{name}_ours", kafka.bootstrap_servers, **settings))
        shop.until_streaming([java.until_true, ours.until_true], "numbers")
        with shop.writing(_change_written):
            data = '{"data-collections": ["shop.numbers"], "type": "incremental"}'
            shop.run(f"INSERT INTO shop.signals VALUES ('ad-hoc', 'execute-snapshot', '{data}')")
            for until_true in (java.until_true, ours.until_true):
                until_true(lambda found: ROWS - 1 in [one[0] for one in _again(found)])
        shop.run("INSERT INTO shop.numbers VALUES (999999, 1)")
        for until_true in (java.until_true, ours.until_true):
            until_true(lambda found: 999999 in _state(found))
        ours.close()
        java.close()
    kept = [row for row in shop.rows("SELECT id, n FROM shop.numbers") if row[0] >= 0]
    assert _state(ours.found) == _state(java.found) == dict(kept)
    assert _again(ours.found) == _again(java.found)
    assert len(_again(ours.found)) >= ROWS - len(WRITTEN)
