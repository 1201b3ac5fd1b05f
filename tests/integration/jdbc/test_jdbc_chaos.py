"""A worker whose processes are killed with SIGKILL while writers commit: each row version is in Kafka once."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections import Counter
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from confluent_kafka import Consumer, TopicPartition
from e2e_worker import WorkerProcess
from jdbc_server import JDBC, Server
from jdbc_stress import WRITERS, Committed, Writer

from connect.lib.deadline import Deadline
from connect.tools.services import KafkaEndpoint

STRESS_S = float(os.environ.get("CONNECT_STRESS_S", "60"))
ROWS = 20_000
COLUMNS = {
    "postgres": "id BIGSERIAL PRIMARY KEY, ts TIMESTAMPTZ(6) NOT NULL, version INT NOT NULL",
    "mariadb": "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, ts TIMESTAMP(6) NOT NULL, version INT NOT NULL",
}
SERIES = {"postgres": f"generate_series(1, {ROWS}) AS s (seq)", "mariadb": f"seq_1_to_{ROWS}"}
WORKER = {
    "exactly.once.source.support": "enabled",
    "auto.restart.backoff.initial.ms": "100",
    "auto.restart.backoff.max.ms": "500",
    "auto.restart.limit": "-1",
    "value.converter.schemas.enable": "false",
}


LEAST_HOSTS = 3


class Killer(threading.Thread):
    """Kills a task host every few seconds, `LEAST_HOSTS` or more, and now and then the worker."""

    def __init__(self, worker: WorkerProcess, writing: Deadline) -> None:
        super().__init__(daemon=True)
        self._worker = worker
        self._writing = writing
        self._random = random.Random(1)
        self.hosts = self.workers = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        pause = threading.Event()
        try:
            while not self._writing.expired or self.hosts < LEAST_HOSTS:
                pause.wait(self._random.uniform(2.0, 5.0))
                self._kill_worker() if self._random.random() < 0.15 else self._kill_host()
        except BaseException as error:  # noqa: BLE001 - the test shows it
            self.failure = error

    def _kill_host(self) -> None:
        servers = psutil.Process(self._worker.pid).children()
        hosts = [host for server in servers for host in server.children()]
        if hosts:
            self._random.choice(hosts).kill()
            self.hosts += 1

    def _kill_worker(self) -> None:
        os.kill(self._worker.pid, signal.SIGKILL)
        self._worker.stop()
        self._worker.start()
        self.workers += 1


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("parallelism", ["1", "4"])
@pytest.mark.parametrize("server", ["postgres", "mariadb"], indirect=True)
def test_each_row_version_is_in_kafka_once_whatever_is_killed(
    server: Server, parallelism: str, kafka: KafkaEndpoint, unique: str, tmp_path: Path
):
    server.run(
        f"CREATE TABLE {{t}} ({COLUMNS[server.name]})",
        f"INSERT INTO {{t}} (ts, version) SELECT CURRENT_TIMESTAMP(6), 1 FROM {SERIES[server.name]} ORDER BY seq",
        "CREATE INDEX {t}_ts ON {t} (ts, id)",
    )
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique, **WORKER)
    worker.start()
    try:
        committed, killer = _under_fire(server, worker, unique, parallelism)
        came: Counter[tuple[int, int]] = Counter()
        deadline = Deadline.after(90)
        while missing := [row for row in committed.versions.items() if row not in came]:
            came = _delivered(kafka, f"{unique}-{server.table}")
            if not deadline.wait(0.5):
                break
    finally:
        worker.stop()
    twice = [row for row, times in came.items() if times > 1]
    counts = f"{len(committed.versions)} rows, {killer.hosts} hosts and {killer.workers} workers killed"
    found = f"{counts}, {len(missing)} lost, {len(twice)} twice"
    print(f"{server.name}, {parallelism} ranges: {found}")  # noqa: T201 - `make chaos` shows it
    assert not missing
    assert not twice
    assert killer.failure is None


def _under_fire(server: Server, worker: WorkerProcess, unique: str, parallelism: str) -> tuple[Committed, Killer]:
    e = server.endpoint
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": f"jdbc:{JDBC[server.name]}://{e.host}:{e.port}/{e.database}",
        "connection.user": e.user,
        "connection.password": e.password,
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "ts",
        "incrementing.column.name": "id",
        "table.whitelist": server.table,
        "topic.prefix": f"{unique}-",
        "timestamp.granularity": "micros_long",
        "initial.read.parallelism": parallelism,
        "tasks.max": parallelism,
        "poll.interval.ms": "100",
        "batch.max.rows": "500",
        "max.rows.per.second": "1000",
    }
    answer = worker.create(unique, config)
    assert answer.status_code == 201, answer.text
    worker.wait_for_tasks(unique, "RUNNING")
    writing = Deadline.after(STRESS_S)
    committed = Committed(versions=dict.fromkeys(range(1, ROWS + 1), 1))
    engine = sa.create_engine(server.engine.url, pool_size=WRITERS)
    writers = [Writer(engine, server.table, seed, writing, committed) for seed in range(WRITERS)]
    for number, writer in enumerate(writers):
        writer.owns(dict.fromkeys(range(number + 1, ROWS, 100), 1))
    killer = Killer(worker, writing)
    for thread in (*writers, killer):
        thread.start()
    for thread in (*writers, killer):
        thread.join(STRESS_S + 90)
    engine.dispose()
    assert not committed.failures
    return committed, killer


def _delivered(kafka: KafkaEndpoint, topic: str) -> Counter[tuple[int, int]]:
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "enable.auto.commit": False}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    came: Counter[tuple[int, int]] = Counter()
    try:
        for number in consumer.list_topics(topic, timeout=20).topics[topic].partitions:
            partition = TopicPartition(topic, number, 0)
            end = consumer.get_watermark_offsets(partition, timeout=20)[1]
            consumer.assign([partition])
            while consumer.position([partition])[0].offset < end and (messages := consumer.consume(5000, 2.0)):
                rows = (json.loads(m.value()) for m in messages if m.error() is None)
                came.update((row["id"], row["version"]) for row in rows)
    finally:
        consumer.close()
    return came
