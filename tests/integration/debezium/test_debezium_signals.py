"""Signals have tables read again in chunks, while rows are written: no row is lost, and none is older than the log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from debezium_shop import Run, Shop

pytestmark = pytest.mark.timeout(300)
Found = Mapping[str, Sequence[Mapping[str, Any]]]
ROWS = 3000
SIGNALS = "CREATE TABLE shop.signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))"
SETTINGS = {
    "signal.data.collection": "shop.signals", "incremental.snapshot.chunk.size": "100",
    "table.include.list": "shop.orders,shop.codes,shop.bare",
}  # fmt: skip


@pytest.fixture(params=["postgres", "mysql", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with ExitStack() as stack:
        shop = Shop(request.param, stack)
        shop.run(SIGNALS, "CREATE TABLE shop.codes (code varchar(9), n int, PRIMARY KEY (code, n))")
        yield shop


def _signal(shop: Shop, id_: str, type_: str = "execute-snapshot", **data: object) -> None:
    text = json.dumps(data).replace("'", "''").replace("\\", "\\\\" if shop.kind != "postgres" else "\\")
    shop.run(f"INSERT INTO shop.signals VALUES ('{id_}', '{type_}', '{text}')")


def _payloads(found: Found, table: str = "orders") -> list[Mapping[str, Any]]:
    return [record["value"]["payload"] for record in found.get(f"shop.{table}", ()) if record["value"] is not None]


def _read_again(found: Found, table: str = "orders") -> list[Mapping[str, Any]]:
    marks = [(payload, payload["source"]["snapshot"]) for payload in _payloads(found, table)]
    return [payload["after"] for payload, mark in marks if mark == "incremental"]


def _state(found: Found) -> dict[int, int]:
    """What a sink has that takes each record by its key."""
    rows: dict[int, int] = {}
    for record in found["shop.orders"]:
        key = record["key"]["payload"]["id"]
        after = None if record["value"] is None else record["value"]["payload"]["after"]
        if after is None:
            rows.pop(key, None)
        else:
            rows[key] = after["n"]
    return rows


def _change_all_over(run: Run, number: int) -> None:
    """Change, delete, move and add rows, elsewhere in the table each time."""
    first = number * 37 % ROWS
    run(f"UPDATE shop.orders SET n = n + 1 WHERE id BETWEEN {first} AND {first + 20}")
    run(f"DELETE FROM shop.orders WHERE id = {first + 30}")
    run(f"UPDATE shop.orders SET id = id + 100000 WHERE id = {first + 31}")
    run(f"INSERT INTO shop.orders VALUES ({ROWS + 1000 + number}, true, 0)")


def _numbers(shop: Shop) -> None:
    # The texts of a boolean differ between PostgreSQL's casts and its log, and keys are compared by their texts.
    columns = "id int, is_current boolean, n int, PRIMARY KEY (id, is_current)"
    shop.run("DROP TABLE shop.orders", f"CREATE TABLE shop.orders ({columns})")
    shop.run("INSERT INTO shop.orders VALUES " + ", ".join(f"({n}, true, 0)" for n in range(1, ROWS + 1)))


def test_a_table_is_read_again_while_it_is_written_and_the_task_breaks_off(shop: Shop) -> None:
    _numbers(shop)
    first = shop.connector(**SETTINGS, **{"snapshot.mode": "no_data", "skipped.operations": "none"})
    first.until_true(lambda _: bool(first.offsets))
    with shop.writing(_change_all_over):
        _signal(shop, "again", **{"data-collections": ["shop.orders"], "type": "incremental"})
        first.until_true(lambda found: len(_read_again(found)) > ROWS // 4)
        first.close()
        second = shop.connector(first.offsets, **SETTINGS, **{"snapshot.mode": "no_data"})
        second.found.update(first.found)
        second.until_true(lambda _: not _tables(second.offsets))
    shop.run("INSERT INTO shop.orders VALUES (999999, true, 5)")
    found = second.until_true(lambda found: _state(found).get(999999) == 5)
    second.close()
    assert _state(found) == dict(shop.rows("SELECT id, n FROM shop.orders"))
    again = [row["id"] for row in _read_again(found)]
    assert len(again) == len(set(again))
    assert len(again) > ROWS // 2


def _tables(offsets: Mapping[str, Mapping[str, object]]) -> Sequence[Any]:
    (offset,) = [one for partition, one in offsets.items() if "history" not in partition]
    return [*json.loads(str(offset.get("incremental_snapshots", "{}"))).get("tables", ["before"])]


def test_a_signal_is_obeyed_once_and_of_a_condition_and_others_are_told(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.run(
        "INSERT INTO shop.orders VALUES (2), (3)", "INSERT INTO shop.codes VALUES ('a', 1), ('A', 2), ('b', 1)",
        "CREATE TABLE shop.bare (n int)", "INSERT INTO shop.bare VALUES (1)",
        *(("ALTER TABLE shop.bare REPLICA IDENTITY FULL",) if shop.kind == "postgres" else ()),
    )  # fmt: skip
    run = shop.connector(**SETTINGS, **{"snapshot.mode": "no_data"})
    run.until_true(lambda _: bool(run.offsets))
    _signal(shop, "type", "delete-everything")
    shop.run("INSERT INTO shop.signals VALUES ('text', 'execute-snapshot', 'rubbish'), ('null', 'stop-snapshot', NULL)")
    _signal(shop, "list", **{"data-collections": "shop.orders"})
    _signal(shop, "none", **{"data-collections": ["shop.nowhere", "shop.(", "shop.bare"]})
    filters = [{"data-collection": "shop.orders", "filter": "id > 1 AND 'a:b' <> 'c'"}]
    _signal(shop, "some", **{"data-collections": [r"shop\.Orders"], "additional-conditions": filters})
    bad = [{"data-collection": "shop.orders", "filter": "nothing = 1"}]
    run.until_true(lambda found: len(_read_again(found)) == 2)
    _signal(shop, "bad", **{"data-collections": ["shop.orders"], "additional-conditions": bad})
    _signal(shop, "codes", **{"data-collections": ["shop.codes"]})
    found = run.until_true(lambda found: len(_read_again(found, "codes")) == 3)
    run.close()
    assert [row["id"] for row in _read_again(found)] == [2, 3]
    assert sorted((row["code"], row["n"]) for row in _read_again(found, "codes")) == [("A", 2), ("a", 1), ("b", 1)]
    assert "shop.signals" not in found
    for text in (
        "'delete-everything', which is not known", "data of signal 'text' are no JSON", "must be a list of texts",
        "names shop.nowhere, and the connector reads no such table", "is no regular expression",
        "Table shop.bare has no key", "Table shop.orders is not read again",
    ):  # fmt: skip
        assert text in caplog.text


def test_reading_again_is_paused_goes_on_and_is_stopped(shop: Shop) -> None:
    _numbers(shop)
    run = shop.connector(**SETTINGS, **{"snapshot.mode": "no_data"})
    run.until_true(lambda _: bool(run.offsets))
    _signal(shop, "wait", "pause-snapshot")
    _signal(shop, "again", **{"data-collections": ["shop.orders"]})
    shop.run("INSERT INTO shop.orders VALUES (50001, true, 1)")
    found = run.until_true(lambda found: 50001 in [p["after"]["id"] for p in _payloads(found)])
    assert _read_again(found) == []
    _signal(shop, "go on", "resume-snapshot")
    run.until_true(lambda found: len(_read_again(found)) >= 100)
    _signal(shop, "end", "stop-snapshot", **{"data-collections": ["shop.orders"]})
    shop.run("INSERT INTO shop.orders VALUES (50002, true, 1)")
    found = run.until_true(lambda found: 50002 in [p["after"]["id"] for p in _payloads(found)])
    run.until_true(lambda _: not _tables(run.offsets))
    run.close()
    assert len(_read_again(found)) < ROWS


def test_lines_of_a_file_are_signals(shop: Shop, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "signals"
    settings = {**SETTINGS, "signal.enabled.channels": "file", "signal.file": str(file)}
    run = shop.connector(**settings, **{"snapshot.mode": "no_data", "signal.poll.interval.ms": "50"})
    run.until_true(lambda _: bool(run.offsets))
    wanted = {"id": "1", "type": "execute-snapshot", "data": {"data-collections": [".*"]}}
    file.write_text(f"rubbish\n[]\n{json.dumps(wanted)}\n", encoding="utf-8")
    found = run.until_true(lambda found: len(_read_again(found)) == 1)
    run.close()
    assert _read_again(found) == [{"id": 1}]
    assert file.read_text(encoding="utf-8") == ""
    assert caplog.text.count("A line of signal.file is left out") == 2
