"""Notes of pg_logical_emit_message are sent once, in the form that Debezium has, wherever the task is broken off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from debezium_notes import MODES, SETTINGS, TRANSACTIONS, WANTED, is_whole, told
from debezium_recordings import FOLDER, read
from debezium_shop import Shop

pytestmark = pytest.mark.timeout(120)


def test_notes_come_once_wherever_the_task_is_broken_off() -> None:
    with ExitStack() as stack:
        shop = Shop("postgres", stack)
        shop.run("CREATE TABLE shop.numbers (id int PRIMARY KEY, n int)")
        ours = shop.connector(**SETTINGS)
        shop.until_streaming([ours.until_true], "numbers")
        begun = dict(ours.offsets)
        ours.close()
        _write(shop)
        offsets, breaks = begun, 0
        found: dict[str, list[Any]] = {}
        while not is_whole(found):
            # The task is broken off behind each batch, within transactions too, and goes on at its place.
            part = shop.connector(offsets, **{**SETTINGS, "max.batch.size": "2"})
            part.until_true(lambda records: any(records.get(topic) for topic in ("shop.numbers", "message")))
            for topic, records in part.found.items():
                found.setdefault(topic, []).extend(records)
            offsets, breaks = part.offsets, breaks + 1
            part.close()
    notes = [record["value"]["payload"]["message"] for record in found["message"]]
    assert [(note["prefix"], note["content"]) for note in notes] == [
        ("beat", "YWxvbmU="), ("order", "d2l0aGlu"), ("order", "AP8="), ("order", "bm8gcm93IGJlc2lkZSBpdA=="),
        ("beat", ""),
    ]  # fmt: skip
    rows = [record["value"]["payload"]["after"]["id"] for record in found["shop.numbers"]]
    assert [row for row in rows if row > 0] == [1, 2, 999999]
    assert breaks >= WANTED


def test_notes_are_those_that_debezium_told() -> None:
    with ExitStack() as stack:
        shop = Shop("postgres", stack)
        shop.run("CREATE TABLE shop.numbers (id int PRIMARY KEY, n int)")
        runs = {
            mode: shop.connector(**SETTINGS, **given, **{"slot.name": mode, "publication.name": mode})
            for mode, given in MODES.items()
        }
        shop.until_streaming([run.until_true for run in runs.values()], "numbers")
        _write(shop)
        for mode, run in runs.items():
            run.until_true(is_whole)
            run.close()
            recorded = read(FOLDER / f"postgres-notes-{mode}.json")["message"]
            assert told(run.found["message"], of_one_log=False) == told(recorded, of_one_log=False)


def test_a_row_names_the_server_that_it_was_replicated_from() -> None:
    with ExitStack() as stack:
        shop = Shop("postgres", stack)
        shop.run("CREATE TABLE shop.numbers (id int PRIMARY KEY, n int)")
        run = shop.connector()
        shop.until_streaming([run.until_true], "numbers")
        with shop.session() as of_peer:
            of_peer("SELECT pg_replication_origin_create('peer')")
            of_peer("SELECT pg_replication_origin_session_setup('peer')")
            of_peer("BEGIN")
            of_peer("SELECT pg_replication_origin_xact_setup('0/64', now())")
            of_peer("INSERT INTO shop.numbers VALUES (1, 1)")
            of_peer("COMMIT")
        shop.run("INSERT INTO shop.numbers VALUES (2, 2)")
        found = run.until_true(lambda found: len(_sources(found)) == 2)
        run.close()
    assert [(source["origin"], source["origin_lsn"]) for source in _sources(found)] == [("peer", 100), (None, None)]


def _sources(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    payloads = [record["value"]["payload"] for record in found.get("shop.numbers", ())]
    return [payload["source"] for payload in payloads if payload["after"]["id"] > 0]


def _write(shop: Shop) -> None:
    for statements in TRANSACTIONS:
        with shop.session() as run:
            for statement in ("BEGIN", *statements, "COMMIT"):
                run(statement)
