"""Debezium's own connector and ours make the same records of notes that an application writes into PostgreSQL's log."""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack
from pathlib import Path

import pytest
from debezium_notes import MODES, SETTINGS, TRANSACTIONS, is_whole, told
from debezium_ours import OurRun
from debezium_peer import Records, create, java_worker
from debezium_recordings import RECORDINGS, write
from debezium_shop import Shop

from connect.tools.services import KafkaEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.mark.parametrize("mode", MODES)
def test_notes_are_told_as_debezium_tells_them(kafka: KafkaEndpoint, tmp_path: Path, mode: str) -> None:
    name = f"dbznotes_{secrets.token_hex(4)}"
    settings = {**SETTINGS, **MODES[mode]}
    with ExitStack() as stack:
        shop = Shop("postgres", stack)
        shop.run("CREATE TABLE shop.numbers (id int PRIMARY KEY, n int)")
        url = stack.enter_context(java_worker(kafka.bootstrap_servers, name, tmp_path / "java"))
        create(url, f"{name}_java", shop.config(f"{name}_java", kafka.bootstrap_servers, **settings))
        java = Records(kafka.bootstrap_servers, f"{name}_java")
        ours = OurRun(shop.config(f"{name}_ours", kafka.bootstrap_servers, **settings))
        shop.until_streaming([java.until_true, ours.until_true], "numbers")
        for statements in TRANSACTIONS:
            with shop.session() as run:
                for statement in ("BEGIN", *statements, "COMMIT"):
                    run(statement)
        for until_true in (java.until_true, ours.until_true):
            until_true(is_whole)
        ours.close()
        java.close()
    if RECORDINGS in os.environ:
        found = {"message": java.found["message"]}
        write(Path(os.environ[RECORDINGS]) / f"postgres-notes-{mode}.json", found, f"{name}_java")
    assert told(ours.found["message"]) == told(java.found["message"])
