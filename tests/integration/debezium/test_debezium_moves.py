"""A connector moves from Debezium in a Java worker to ours and back: slot, publication and offsets are taken over."""

from __future__ import annotations

import secrets
from pathlib import Path

import psycopg
import pytest
from debezium_peer import Found, Records, create, free_slot, java_worker, postgres_config
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint

pytestmark = pytest.mark.timeout(600)
ROWS = 20


def test_a_connector_moves_here_and_back(kafka: KafkaEndpoint, postgres: SqlEndpoint, tmp_path: Path) -> None:
    """The workers share their internal topics, so that each finds the connector and its offsets as the other left it.

    Rows are written while one runs, and while none does.
    """
    name = f"dbzmove_{secrets.token_hex(4)}"
    server = {"host": postgres.host, "port": postgres.port, "user": postgres.user, "password": postgres.password}
    with psycopg.connect(**server, dbname=postgres.database, autocommit=True) as database:
        database.execute(f"CREATE TABLE {name} (id integer PRIMARY KEY)".encode())
        records = Records(kafka.bootstrap_servers, name)
        table = _Table(database, name, records)
        try:
            table.write()
            with java_worker(kafka.bootstrap_servers, name, tmp_path / "java") as url:
                create(url, name, postgres_config(postgres, name, **{"table.include.list": f"public.{name}"}))
                table.until_read()
                table.write()
                table.until_read()
            table.write()
            ours = WorkerProcess(tmp_path / "ours", kafka.bootstrap_servers, name)
            ours.start()
            try:
                table.until_read()
                table.write()
                table.until_read()
            finally:
                ours.stop()
            table.write()
            with java_worker(kafka.bootstrap_servers, name, tmp_path / "again"):
                table.until_read()
                table.write()
                found = table.until_read()
        finally:
            records.close()
            free_slot(database, name)
        told = [record["value"] for record in found[f"public.{name}"]]
        assert [value["payload"]["after"]["id"] for value in told] == list(range(1, table.last + 1))
        assert [value["payload"]["op"] for value in told] == ["r"] * ROWS + ["c"] * (table.last - ROWS)
        assert all(value["schema"] == told[0]["schema"] for value in told)


class _Table:
    """Writes rows, each in a transaction of its own, and knows which ones it wrote."""

    def __init__(self, database: psycopg.Connection[tuple[object, ...]], name: str, records: Records) -> None:
        self._database, self._name, self._records = database, name, records
        self.last = 0

    def write(self) -> None:
        for _ in range(ROWS):
            self.last += 1
            self._database.execute(f"INSERT INTO {self._name} VALUES (%s)".encode(), [self.last])

    def until_read(self) -> Found:
        return self._records.until_true(self._has_all)

    def _has_all(self, found: Found) -> bool:
        told = found.get(f"public.{self._name}", ())
        return self.last in {record["value"]["payload"]["after"]["id"] for record in told}
