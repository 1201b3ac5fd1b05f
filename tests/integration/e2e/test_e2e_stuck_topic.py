"""Checks that a topic which takes no rows holds back the offsets of its own table alone, and only that long."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaService
from connect.tools.services.kafka_storage import new_id
from connect.tools.services.process.ports import free_ports


class TwoBrokers:
    """One broker that has everything, the worker's topics too, and one for topics that shall be away."""

    def __init__(self, folder):
        broker, controller, other = free_ports(3)
        cluster = new_id()
        self.kafka = KafkaService(ports={"broker": broker, "controller": controller}, cluster_id=cluster)
        address = f"PLAINTEXT://127.0.0.1:{other}"
        second = {
            "process.roles": "broker", "node.id": "2", "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": address, "advertised.listeners": address,
        }  # fmt: skip
        self.other = KafkaService(ports={"broker": other}, cluster_id=cluster, properties=second, data_folder=folder)

    def create(self, topic, broker):
        admin = AdminClient({"bootstrap.servers": self.kafka.endpoint.bootstrap_servers})
        admin.create_topics([NewTopic(topic, 1, replica_assignment=[[broker]])])[topic].result(20)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory):
    brokers = TwoBrokers(tmp_path_factory.mktemp("other"))
    with brokers.kafka:
        yield brokers
        brokers.other.stop()


@pytest.fixture(scope="module")
def worker(brokers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("worker")
    worker = WorkerProcess(folder, brokers.kafka.endpoint.bootstrap_servers, "stuck-topic")
    worker.start()
    yield worker
    worker.stop()


@pytest.fixture
def insert(tmp_path):
    path = tmp_path / "in.db"
    with closing(sqlite3.connect(path)) as database:
        for table in ("healthy", "stuck"):
            database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)")

    def rows(table, first, last):
        with closing(sqlite3.connect(path)) as database, database:
            database.executemany(f"INSERT INTO {table} VALUES (?)", [(i,) for i in range(first, last + 1)])

    rows.path = path
    return rows


@pytest.mark.parametrize("shared", ["true", "false"])
def test_offsets_of_other_tables_are_stored_while_nobody_leads_a_topic(worker, brokers, insert, unique, shared):
    brokers.create(f"{unique}-healthy", broker=1)
    brokers.other.start()
    brokers.create(f"{unique}-stuck", broker=2)
    brokers.other.kill()
    insert("stuck", 1, 3)
    insert("healthy", 1, 3)
    config = {
        "connector.class": "JdbcSourceConnector", "connection.url": f"sqlite:///{insert.path}", "tasks.max": "1",
        "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "stuck,healthy",
        "topic.prefix": f"{unique}-", "poll.interval.ms": "100", "offset.flush.interval.ms": "200",
        "producer.override.shared": shared,
    }  # fmt: skip
    assert worker.create(unique, config).status_code == 201

    def stored():
        found = worker.call("GET", unique, "/offsets").json()["offsets"]
        return {one["partition"]["table"]: one["offset"]["incrementing"] for one in found}

    wait_for(lambda: stored() == {"healthy": 3}, 30, "the offset of the healthy table")
    insert("healthy", 4, 5)
    wait_for(lambda: stored() == {"healthy": 5}, 30, "the next offset of the healthy table")
    assert {task["state"] for task in worker.status(unique)["tasks"]} == {"RUNNING"}
    brokers.other.start()
    wait_for(lambda: stored() == {"healthy": 5, "stuck": 3}, 60, "the offset of the other table")
    worker.call("DELETE", unique)
