"""A worker that is killed with SIGKILL again and again while its JDBC sink writes: tables are as their topics say."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from jdbc_server import JDBC, Server

from connect.tools.services import KafkaEndpoint

pytestmark = pytest.mark.integration
KILLS = [1, pytest.param(5, marks=pytest.mark.chaos)]
PARTITIONS = 2
FIELDS = [{"field": "id", "type": "int64"}, {"field": "version", "type": "int64"}]
SCHEMA = {"type": "struct", "fields": FIELDS, "optional": False}


class Topic:
    """Records of keys with rising versions, some of them tombstones; `last`: the last version of each key."""

    def __init__(self, kafka: KafkaEndpoint, name: str) -> None:
        brokers = {"bootstrap.servers": kafka.bootstrap_servers}
        admin = AdminClient(brokers)
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
        self.name = name
        self.sent: list[tuple[int, int]] = []
        self.last: dict[int, int | None] = {}
        self._producer = Producer(brokers)
        self._random = random.Random(7)

    def produce(self, records: int, *, tombstones: bool) -> None:
        for version in range(len(self.sent), len(self.sent) + records):
            n = self._random.randrange(200)
            key = json.dumps({"schema": {"type": "int64", "optional": False}, "payload": n})
            is_gone = tombstones and self._random.random() < 0.2
            body = None if is_gone else json.dumps({"schema": SCHEMA, "payload": {"id": n, "version": version}})
            self._producer.produce(self.name, body, key, partition=n % PARTITIONS)
            self.sent.append((n, version))
            self.last[n] = None if is_gone else version
        assert self._producer.flush(60) == 0


@pytest.fixture
def worker(kafka: KafkaEndpoint, tmp_path: Path, unique: str) -> Iterator[WorkerProcess]:
    made = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    made.start()
    yield made
    made.stop()


def sink(server: Server, topic: Topic, **settings: str) -> dict[str, str]:
    e = server.endpoint
    given = {
        "connector.class": "io.aiven.connect.jdbc.JdbcSinkConnector", "tasks.max": "2", "topics": topic.name,
        "connection.url": f"jdbc:{JDBC[server.name]}://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
        "connection.password": e.password, "table.name.format": server.table, "auto.create": "true",
        "consumer.override.session.timeout.ms": "6000", "consumer.override.max.poll.records": "200",
    }  # fmt: skip
    return given | {key.replace("__", "."): value for key, value in settings.items()}


def rows(server: Server, columns: str) -> Counter[tuple[Any, ...]]:
    try:
        with server.engine.connect() as connection:
            found = connection.exec_driver_sql(f"SELECT {columns} FROM {server.table}").fetchall()
    except Exception:  # noqa: BLE001 - the table is not there yet
        return Counter()
    return Counter(tuple(row) for row in found)


def write_while_killed(worker: WorkerProcess, server: Server, topic: Topic, kills: int, *, tombstones: bool) -> None:
    """Kill the worker each time that it has written more."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for _ in range(kills):
        topic.produce(4000, tombstones=tombstones)
        wait_for(lambda seen=seen: rows(server, "id, version") != seen, 60, "more rows", pause_s=0.01)
        worker.kill()
        seen = rows(server, "id, version")
        worker.start()
    topic.produce(100, tombstones=tombstones)


@pytest.mark.parametrize("kills", KILLS)
def test_each_key_is_as_its_last_record_says(kafka, worker, server, unique, kills):
    topic = Topic(kafka, f"{unique}-versions")
    config = sink(server, topic, insert__mode="upsert", pk__mode="record_key", pk__fields="k", delete__enabled="true")
    assert worker.create(topic.name, config).status_code == 201
    write_while_killed(worker, server, topic, kills, tombstones=True)
    wanted = Counter((n, n, version) for n, version in topic.last.items() if version is not None)
    wait_for(lambda: rows(server, "k, id, version") == wanted, 90, "the last version of each key")


@pytest.mark.parametrize("kills", KILLS)
def test_each_record_is_there_once_without_a_key(kafka, worker, server, unique, kills):
    topic = Topic(kafka, f"{unique}-all")
    assert worker.create(topic.name, sink(server, topic, exactly__once="true")).status_code == 201
    write_while_killed(worker, server, topic, kills, tombstones=False)
    wanted = Counter(topic.sent)
    wait_for(lambda: rows(server, "id, version").keys() == wanted.keys(), 90, "every record")
    assert rows(server, "id, version") == wanted
