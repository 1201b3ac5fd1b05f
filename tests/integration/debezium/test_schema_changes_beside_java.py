"""Debezium's own MySQL connector and ours tell the same statements, and what tables became by them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from binlog_servers import BinlogServer, binlog_server
from debezium_ours import OurRun
from debezium_peer import Records, create, java_worker
from debezium_recordings import RECORDINGS, write
from schema_statements import (
    MODES,
    SETUP,
    STATEMENTS,
    comparable,
    has_first_read,
    is_at_end,
)

from connect.tools.services import KafkaEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]


@pytest.fixture
def server() -> Iterator[BinlogServer]:
    with binlog_server("mysql") as running:
        yield running


def test_statements_are_told_as_debezium_tells_them(kafka: KafkaEndpoint, server: BinlogServer, tmp_path: Path) -> None:
    name = f"dbzddl_{secrets.token_hex(4)}"
    server.run(*SETUP)
    with java_worker(kafka.bootstrap_servers, name, tmp_path / "java", "mysql") as url:
        java, ours = {}, {}
        for mode, settings in MODES.items():
            given = {"database.include.list": "shop", **settings}
            config = server.config(f"{name}_{mode}", kafka.bootstrap_servers, **given)
            create(url, f"{name}_{mode}", config)
            java[mode] = Records(kafka.bootstrap_servers, f"{name}_{mode}", statements=True)
            ours[mode] = OurRun(config)
        for mode in MODES:
            java[mode].until_true(lambda found: has_first_read(found.get("", ())))
            run = ours[mode]
            run.until_true(lambda _, run=run: has_first_read(run.statements) and bool(run.offsets))
        server.run(*STATEMENTS)
        for mode in MODES:
            java[mode].until_true(lambda found, mode=mode: is_at_end(found.get("", ()), mode))
            run = ours[mode]
            run.until_true(lambda _, run=run, mode=mode: is_at_end(run.statements, mode))
            run.close()
            java[mode].close()
            if RECORDINGS in os.environ:
                recorded = {"": java[mode].found[""]}
                write(Path(os.environ[RECORDINGS]) / f"mysql-statements-{mode}.json", recorded, f"{name}_{mode}")
    for mode in MODES:
        told, own = (comparable(one, of_one_log=True) for one in (java[mode].found[""], ours[mode].statements))
        assert [one[2]["ddl"] for one in own] == [one[2]["ddl"] for one in told], mode
        for theirs, mine in zip(told, own, strict=True):
            assert mine == theirs, theirs[2]["ddl"]
