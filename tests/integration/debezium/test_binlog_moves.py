"""A connector moves from Debezium in a Java worker to ours and back, while rows are written: each comes once."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest
from binlog_servers import BinlogServer, binlog_server
from debezium_peer import Found, Records, create, java_worker
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]
ROWS_AT_ONCE = 3
"""Each transaction has so many rows, so that places lie within one."""


def test_a_connector_moves_here_and_back_under_a_writer(kafka: KafkaEndpoint, tmp_path: Path) -> None:
    """The workers share their internal topics, so that each finds connector and offsets as the other left them."""
    name = f"dbzmove_{secrets.token_hex(4)}"
    with binlog_server("mysql") as server:
        server.run("CREATE DATABASE moved", "CREATE TABLE moved.rows_ (id int PRIMARY KEY)")
        records = Records(kafka.bootstrap_servers, name)
        with _Writer(server).running() as writer:
            with java_worker(kafka.bootstrap_servers, name, tmp_path / "java", "mysql") as url:
                create(url, name, server.config(name, kafka.bootstrap_servers, **{"database.include.list": "moved"}))
                writer.until_followed(records)
            ours = WorkerProcess(tmp_path / "ours", kafka.bootstrap_servers, name)
            ours.start()
            try:
                writer.until_followed(records)
            finally:
                ours.stop()
            with java_worker(kafka.bootstrap_servers, name, tmp_path / "again", "mysql"):
                writer.until_followed(records)
                last = writer.end()
                found = records.until_true(lambda found: last in _ids(found))
        records.close()
    assert _ids(found) == list(range(1, last + 1))
    schemas = [record["value"]["schema"] for record in found["moved.rows_"]]
    assert all(schema == schemas[0] for schema in schemas)


def _ids(found: Found) -> list[int]:
    return [record["value"]["payload"]["after"]["id"] for record in found.get("moved.rows_", ())]


class _Writer:
    """Writes rows with ascending ids in a thread of its own, one transaction after the other."""

    def __init__(self, server: BinlogServer) -> None:
        self._server = server
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.last = 0

    @contextmanager
    def running(self) -> Iterator[_Writer]:
        self._thread.start()
        try:
            yield self
        finally:
            self.end()

    def end(self) -> int:
        """Return the last id, once nothing more is written."""
        self._stopping.set()
        self._thread.join()
        return self.last

    def until_followed(self, records: Records) -> None:
        """Wait until rows that are written from now on are among the records."""
        wanted = self.last + 10 * ROWS_AT_ONCE
        records.until_true(lambda found: max(_ids(found), default=0) >= wanted)

    def _write(self) -> None:
        endpoint = self._server.endpoint
        login = {"host": endpoint.host, "port": endpoint.port, "user": endpoint.user, "password": endpoint.password}
        with pymysql.connect(**login, autocommit=True) as session, session.cursor() as cursor:
            while not self._stopping.wait(0.02):
                ids = range(self.last + 1, self.last + 1 + ROWS_AT_ONCE)
                cursor.execute(f"INSERT INTO moved.rows_ VALUES {', '.join(f'({n})' for n in ids)}")
                self.last = ids[-1]
