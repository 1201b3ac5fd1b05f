"""Kafka or S3 away for half a minute in mid-work: both ends are equal afterwards, no task stays FAILED."""

from __future__ import annotations

import sqlite3
import threading
import time

import pytest
from e2e_s3 import rows_of, sink_config
from e2e_worker import WorkerProcess, wait_for

from connect.services import KafkaService, SeaweedS3Service

OUTAGE_S = 30.0
ROWS_PER_S = 200


class Writer:
    """Inserts rows all the time, as an application would."""

    def __init__(self, path) -> None:
        self._path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.rows = 0
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER)")

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def stop(self) -> int:
        self._stop.set()
        self._thread.join(30)
        return self.rows

    def _run(self) -> None:
        connection = sqlite3.connect(self._path, timeout=30)
        while not self._stop.wait(0.1):
            batch = [(f"order {self.rows + i}", (self.rows + i) % 7 or None) for i in range(ROWS_PER_S // 10)]
            with connection:
                connection.executemany("INSERT INTO orders (name, amount) VALUES (?, ?)", batch)
            self.rows += len(batch)
        connection.close()


@pytest.fixture(params=["kafka", "s3"])
def victim(request) -> str:
    return request.param


def test_both_ends_are_equal_after_an_outage(victim, tmp_path, unique):
    kafka, s3 = KafkaService(), SeaweedS3Service()
    with kafka, s3, Writer(tmp_path / "orders.db") as writer:
        s3.create_bucket("lake")
        worker = WorkerProcess(tmp_path, kafka.endpoint.bootstrap_servers, unique)
        try:
            worker.start()
            source = {
                "connector.class": "JdbcSourceConnector", "connection.url": f"sqlite:///{tmp_path / 'orders.db'}",
                "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "orders",
                "topic.prefix": f"{unique}-", "poll.interval.ms": "100", "exactly.once.support": "required",
            }  # fmt: skip
            topic = f"{unique}-orders"
            assert worker.create("orders-source", source).status_code == 201
            assert worker.create("orders-sink", sink_config(s3.endpoint, "lake", "topics", topic)).status_code == 201
            folder = f"topics/{topic}"
            wait_for(lambda: len(rows_of(s3.endpoint, "lake", folder)) > 300, 60, "rows in S3 before the outage")

            service = kafka if victim == "kafka" else s3
            service.stop()
            _outage(OUTAGE_S)
            service.start()

            before = len(rows_of(s3.endpoint, "lake", folder))
            wait_for(lambda: len(rows_of(s3.endpoint, "lake", folder)) > before, 120, "rows in S3 after the outage")
            total = writer.stop()
            wait_for(lambda: len(rows_of(s3.endpoint, "lake", folder)) >= total, 120, f"{total} rows in S3")
            ids = sorted(row["id"] for row in rows_of(s3.endpoint, "lake", folder))
            assert ids == list(range(1, total + 1)), f"{len(ids)} rows, {len(set(ids))} distinct, of {total}"
            for name in ("orders-source", "orders-sink"):
                worker.wait_for_tasks(name, "RUNNING")
        finally:
            worker.stop()


def _outage(length_s: float) -> None:
    """The outage's length is what is tested."""
    end_s = time.monotonic() + length_s
    pause = threading.Event()
    while time.monotonic() < end_s:
        pause.wait(end_s - time.monotonic())
