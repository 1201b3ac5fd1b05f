"""Debezium's own PostgreSQL connector and ours read the same tables: the records are the same but for what is named."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
import pytest
from debezium_bed import connected, server_of_many_slots
from debezium_differences import KNOWN, applies, differences, unexplained
from debezium_modes import MODES
from debezium_peer import Records, create, java_worker, postgres_config
from debezium_recordings import RECORDINGS, write
from debezium_tables import changes, has_all_rows, is_at_end, setup
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@dataclass
class Bed:
    """Holds two workers on one Kafka, and a database with the tables."""

    kafka: KafkaEndpoint
    postgres: SqlEndpoint
    name: str
    java_url: str
    our_url: str
    database: psycopg.Connection[tuple[object, ...]]

    def config(self, name: str, **settings: str) -> dict[str, str]:
        """Return the configuration of a connector of all tables."""
        return postgres_config(
            self.postgres, name, **{"schema.include.list": "inventory", "skipped.operations": "none", **settings}
        )

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.database.execute(statement.encode())


@pytest.fixture
def bed(kafka: KafkaEndpoint, tmp_path: Path) -> Iterator[Bed]:
    name = f"dbz_{secrets.token_hex(4)}"
    ours = WorkerProcess(tmp_path / "ours", kafka.bootstrap_servers, f"{name}-ours")
    with server_of_many_slots() as postgres, connected(postgres) as database:
        try:
            ours.start()
            with java_worker(kafka.bootstrap_servers, f"{name}-java", tmp_path / "java") as java_url:
                yield Bed(kafka, postgres, name, java_url, ours.url, database)
        finally:
            ours.stop()


def test_records_are_those_of_debezium(bed: Bed) -> None:
    bed.run(*setup("inventory"))
    runs = {}
    for mode, settings in MODES.items():
        for who, url in (("java", bed.java_url), ("ours", bed.our_url)):
            name = f"{bed.name}_{who}_{mode}"
            create(url, name, bed.config(name, **settings))
            runs[mode, who] = Records(bed.kafka.bootstrap_servers, name)
    for (mode, _), records in runs.items():
        records.until_true(partial(has_all_rows, settings=MODES[mode]))
    bed.run(*changes())
    found = set()
    for (mode, _), records in runs.items():
        records.until_true(partial(is_at_end, settings=MODES[mode]))
        records.close()
    for mode in MODES:
        java, ours = runs[mode, "java"].found, runs[mode, "ours"].found
        if RECORDINGS in os.environ:
            write(Path(os.environ[RECORDINGS]) / f"postgres-{mode}.json", java, f"{bed.name}_java_{mode}")
        found |= {f"{mode}: {place}" for place in differences(java, ours, (f"_java_{mode}", f"_ours_{mode}"))}
    assert unexplained(found) == []
    assert [reason for known, reason in KNOWN.items() if not applies(known, found)] == []
