"""Debezium's own MySQL connector and ours read the same tables: the records are the same but for what is named."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from binlog_differences import KNOWN, unexplained
from binlog_modes import MODES
from binlog_servers import BinlogServer, binlog_server
from binlog_tables import changes, has_all_rows, is_at_end, setup
from debezium_differences import differences
from debezium_ours import OurRun
from debezium_peer import Records, create, java_worker
from debezium_recordings import RECORDINGS, write

from connect.tools.services import KafkaEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]


@pytest.fixture
def server() -> Iterator[BinlogServer]:
    with binlog_server("mysql") as running:
        yield running


def test_records_are_those_of_debezium(kafka: KafkaEndpoint, server: BinlogServer, tmp_path: Path) -> None:
    name = f"dbzlog_{secrets.token_hex(4)}"
    server.run(*setup("mysql"))
    with java_worker(kafka.bootstrap_servers, name, tmp_path / "java", "mysql") as url:
        java = {}
        for mode, settings in MODES.items():
            config = _config(server, f"{name}_{mode}", kafka, settings)
            create(url, f"{name}_{mode}", config)
            java[mode] = Records(kafka.bootstrap_servers, f"{name}_{mode}")
        ours = {mode: OurRun(_config(server, f"{name}_{mode}", kafka, MODES[mode])) for mode in MODES}
        for mode in MODES:
            java[mode].until_true(has_all_rows)
            ours[mode].until_true(has_all_rows)
        server.run(*changes("mysql"))
        found = set()
        for mode in MODES:
            java[mode].until_true(is_at_end)
            ours[mode].until_true(is_at_end)
            ours[mode].close()
            java[mode].close()
            if RECORDINGS in os.environ:
                write(Path(os.environ[RECORDINGS]) / f"mysql-{mode}.json", java[mode].found, f"{name}_{mode}")
            places = differences(java[mode].found, ours[mode].found, ("", ""))
            found |= {f"{mode}: {place}" for place in places}
    assert unexplained(found, KNOWN) == []
    assert [reason for known, reason in KNOWN.items() if not any(known in place for place in found)] == []


def _config(server: BinlogServer, name: str, kafka: KafkaEndpoint, settings: Mapping[str, str]) -> dict[str, str]:
    return server.config(name, kafka.bootstrap_servers, **{"database.include.list": "inventory", **settings})
