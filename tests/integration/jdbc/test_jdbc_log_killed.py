"""mode=log through a whole worker that is killed in the middle: the topic tells the table, each change once."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter

import pytest
import requests
from confluent_kafka import Consumer, TopicPartition
from e2e_worker import JSON, WorkerProcess, wait_for
from jdbc_log import forget
from jdbc_log_writer import Writer, content, two_tables
from jdbc_server import Server

pytestmark = [pytest.mark.chaos, pytest.mark.parametrize("server", ["postgres"], indirect=True)]


class Reader:
    """Builds a table from its flattened topic, as a sink by key does; counts what came."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "none"})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self.rows: dict[int, tuple[int, str]] = {}
        self.events: Counter[tuple[object, ...]] = Counter()

    def read(self) -> int:
        for message in self._consumer.consume(10_000, 0.2):
            if message.error() is not None:
                continue
            key, value = json.loads(message.key()), json.loads(message.value())
            self.events[key["id"], value["__op"], value["__source_lsn"], value["version"], value["name"]] += 1
            if value["__deleted"] == "true":
                self.rows.pop(key["id"], None)
            else:
                self.rows[key["id"]] = (value["version"], value["name"])
        return self.events.total()

    def close(self) -> None:
        self._consumer.close()


def _config(server: Server, tables: list[str]) -> dict[str, str]:
    e = server.endpoint
    return {
        "connector.class": "JdbcSourceConnector", "mode": "log", "topic.prefix": server.table,
        "connection.url": f"jdbc:postgresql://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
        "connection.password": e.password, "table.whitelist": ",".join(tables), "slot.name": server.table,
        "publication.name": server.table, "max.batch.size": "400",
        "key.converter": JSON, "key.converter.schemas.enable": "false",
        "value.converter": JSON, "value.converter.schemas.enable": "false",
        "transforms": "unwrap", "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.delete.tombstone.handling.mode": "rewrite", "transforms.unwrap.add.fields": "op,source.lsn",
        "exactly.once.support": "required",
    }  # fmt: skip


def test_a_worker_killed_while_a_writer_runs_loses_and_repeats_nothing(server, kafka, unique, tmp_path):
    names = two_tables(server, 1000)
    topics = [f"{server.table}.public.{name}" for name in names]
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    readers = []
    writer = Writer(server, seed=5)
    try:
        worker.start()
        assert worker.create(unique, _config(server, names)).status_code == 201
        writer.start()
        worker.wait_for_tasks(unique, "RUNNING")
        readers = [Reader(kafka.bootstrap_servers, topic) for topic in topics]
        wait_for(lambda: sum(reader.read() for reader in readers) >= 2500, 60.0, "events of the first read and the log")
        os.kill(worker.pid, signal.SIGKILL)
        worker.start()
        writer.end()
        wanted = [content(server, name) for name in names]
        wait_for(
            lambda: [reader.read() and reader.rows for reader in readers] == wanted,
            60.0,
            "the tables in the topics",
        )
        assert writer.committed > 20
        assert [max(reader.events.values()) for reader in readers] == [1, 1]
        requests.delete(f"{worker.url}/connectors/{unique}", timeout=30)
    finally:
        for reader in readers:
            reader.close()
        worker.stop()
        forget(server)
