"""Debezium's own PostgreSQL connector and ours read the same tables: the records are the same but for what is named."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from debezium_differences import KNOWN, applies, differences, unexplained
from debezium_peer import CLASS, PATIENCE_S, Records, create, java_worker
from debezium_tables import changes, counts, is_at_end, setup
from e2e_worker import WorkerProcess

from connect.lib.deadline import Deadline
from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint

pytestmark = pytest.mark.timeout(600)


@dataclass
class Bed:
    """Holds two workers on one Kafka, and a database with the tables."""

    kafka: KafkaEndpoint
    postgres: SqlEndpoint
    java_url: str
    our_url: str
    database: psycopg.Connection[tuple[object, ...]]

    def config(self, name: str, **settings: str) -> dict[str, str]:
        """Return the configuration of a connector by this name, as in Debezium's tutorial."""
        server = self.postgres
        return {
            "connector.class": CLASS, "tasks.max": "1", "database.hostname": server.host,
            "database.port": str(server.port), "database.user": server.user, "database.password": server.password,
            "database.dbname": str(self.database.info.dbname), "topic.prefix": name, "plugin.name": "pgoutput",
            "slot.name": name, "publication.name": name, "publication.autocreate.mode": "filtered",
            "schema.include.list": "inventory", "skipped.operations": "none", **settings,
        }  # fmt: skip

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.database.execute(statement.encode())


@pytest.fixture
def bed(kafka: KafkaEndpoint, postgres: SqlEndpoint, tmp_path: Path) -> Iterator[Bed]:
    name = f"dbz_{secrets.token_hex(4)}"
    server = {"host": postgres.host, "port": postgres.port, "user": postgres.user, "password": postgres.password}
    with psycopg.connect(**server, dbname=postgres.database, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        ours = WorkerProcess(tmp_path / "ours", kafka.bootstrap_servers, f"{name}-ours")
        try:
            ours.start()
            with (
                java_worker(kafka.bootstrap_servers, f"{name}-java", tmp_path / "java") as java_url,
                psycopg.connect(**server, dbname=name, autocommit=True) as database,
            ):
                yield Bed(kafka, postgres, java_url, ours.url, database)
        finally:
            ours.stop()
            admin.execute(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = %s", [name]
            )
            _dropped(admin, name)


def _dropped(admin: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    limit = Deadline.after(PATIENCE_S)
    while True:
        try:
            admin.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", [name]
            )
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        except psycopg.errors.ObjectInUse:
            # The walsender of a worker that has just ended is still leaving.
            assert limit.wait(0.2)
            continue
        return


MODES: Mapping[str, Mapping[str, str]] = {
    "defaults": {},
    "texts": {
        "decimal.handling.mode": "string", "time.precision.mode": "connect", "hstore.handling.mode": "map",
        "interval.handling.mode": "string", "binary.handling.mode": "base64",
        # Connect's types of dates and times end at the year 9999 here.
        "column.exclude.list": r"inventory\..*\.(c_timestamp6|c_timestamp3_far|c_date_far|c_time0|d_infinity)",
    },
    "doubles": {
        "decimal.handling.mode": "double", "time.precision.mode": "adaptive_time_microseconds",
        "binary.handling.mode": "hex", "tombstones.on.delete": "false", "skipped.operations": "t",
    },
    "iso": {
        "time.precision.mode": "isostring", "binary.handling.mode": "base64-url-safe",
        "include.unknown.datatypes": "true", "extended.headers.enabled": "false",
    },
    "micros": {"time.precision.mode": "microseconds", "column.exclude.list": "inventory.plain.name"},
    "nanos": {"time.precision.mode": "nanoseconds", "unavailable.value.placeholder": "gone"},
}  # fmt: skip


@pytest.mark.parametrize("modes", [("defaults",)], ids="-".join)
def test_records_are_those_of_debezium(bed: Bed, modes: tuple[str, ...]) -> None:
    """A server has ten slots by default, and each connector takes one."""
    bed.run(*setup("inventory"))
    runs = {}
    for mode in modes:
        settings = MODES[mode]
        for who, url in (("java", bed.java_url), ("ours", bed.our_url)):
            name = f"{bed.database.info.dbname}_{who}_{mode}"
            create(url, name, bed.config(name, **settings))
            runs[mode, who] = Records(bed.kafka.bootstrap_servers, name)
    for records in runs.values():
        records.until(counts())
    bed.run(*changes())
    for records in runs.values():
        records.until_true(is_at_end)
        records.close()
    found = {
        mode: differences(runs[mode, "java"].found, runs[mode, "ours"].found, (f"_java_{mode}", f"_ours_{mode}"))
        for mode in modes
    }
    assert [place for places in found.values() for place in unexplained(places)] == []
    assert [reason for known, reason in KNOWN.items() if not any(applies(known, one) for one in found.values())] == []
