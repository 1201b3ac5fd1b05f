"""Runs Debezium's own connector, from Maven Central, in Apache Kafka's Connect worker, to compare ours with it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import requests
from confluent_kafka import Consumer, TopicPartition

from connect.lib.deadline import Deadline
from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java_connect import InternalTopics, JavaConnectService
from connect.tools.services.sql import SqlEndpoint

VERSIONS = {"postgres": "3.7.0.Final", "mysql": "3.6.1.Final", "jdbc": "3.6.0.Final"}
"""The versions differ by database, as not every version of every connector is in every registry."""
CLASS = "io.debezium.connector.postgresql.PostgresConnector"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PATIENCE_S = 120.0
SINK = (
    Artifact("io.debezium", "debezium-connector-jdbc", VERSIONS["jdbc"], transitive=False),
    *(
        Artifact("io.debezium", name, VERSIONS["jdbc"])
        for name in (
            "debezium-connector-common", "debezium-sink", "debezium-connect-plugins", "debezium-openlineage-api",
        )
    ),
    Artifact("org.hibernate.orm", "hibernate-core", "7.2.6.Final"),
    Artifact("org.hibernate.orm", "hibernate-agroal", "7.2.0.Final"),
    Artifact("org.postgresql", "postgresql", "42.7.7"),
    Artifact("org.mariadb.jdbc", "mariadb-java-client", "3.5.3"),
)  # fmt: skip
"""The sink with what it depends on, named one by one: it asks for a hibernate-agroal that not every registry has."""
Found = dict[str, list[dict[str, Any]]]
"""Maps topics without their prefix to records, each with key, value and headers."""


def plugin_folder(database: str) -> Path:
    """Return the folder with the jars of a database's connector and those that it depends on."""
    version = VERSIONS[database]
    if database == "jdbc":
        return fetch(f"java-debezium-jdbc-{version}", SINK)
    folder = f"java-debezium-{version}" if database == "postgres" else f"java-debezium-{database}-{version}"
    return fetch(folder, [Artifact("io.debezium", f"debezium-connector-{database}", version)])


@contextmanager
def java_worker(bootstrap_servers: str, name: str, folder: Path, database: str = "postgres") -> Iterator[str]:
    """Yield the URL of a Java worker that has Debezium's connector for a database."""
    plugins = folder / "plugins"
    plugins.mkdir(parents=True)
    # Each folder of the path is one plug-in. The worker has Jackson, and the sink's library mixes both up.
    (plugins / "debezium").mkdir()
    for jar in plugin_folder(database).glob("*.jar"):
        if database != "jdbc" or not jar.name.startswith("jackson-"):
            (plugins / "debezium" / jar.name).symlink_to(jar)
    topics = InternalTopics(f"{name}-configs", f"{name}-offsets", f"{name}-status")
    properties = {"plugin.path": str(plugins), "offset.flush.interval.ms": "500"}
    with JavaConnectService(
        bootstrap_servers, group_id=name, topics=topics, data_folder=folder, properties=properties
    ) as worker:
        yield worker.endpoint.url


class Records:
    """Reads the records in the topics of one connector, by topic, in the order in which they came."""

    def __init__(self, bootstrap_servers: str, prefix: str, *, statements: bool = False) -> None:
        """Take the topics' prefix. With `statements` the topic of statements is read, too; its records are under an
        empty name.
        """
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers, "group.id": f"{prefix}-{time.time_ns()}",
                "enable.auto.commit": False, "auto.offset.reset": "earliest",
            }
        )  # fmt: skip
        self._prefix = f"{prefix}."
        self._whole = prefix if statements else None
        self._assigned: set[str] = set()
        self.found: Found = {}

    def until_true(self, done: Callable[[Found], bool]) -> Found:
        """Return the records once `done` is true of them."""
        limit = Deadline.after(PATIENCE_S)
        while not done(self.found):
            assert not limit.expired, {topic: len(records) for topic, records in self.found.items()}
            self.poll()
        return self.found

    def poll(self) -> None:
        """Read the records that have come since, for at most a second."""
        known = {t for t in self._consumer.list_topics(timeout=10).topics if self._is_own(t)}
        if known - self._assigned:
            new = [TopicPartition(t, 0, 0) for t in sorted(known - self._assigned)]
            self._consumer.incremental_assign(new)
            self._assigned |= known
        if not self._assigned:
            Deadline.after(0.2).wait(0.2)
            return
        for message in self._consumer.consume(500, timeout=1.0):
            assert message.error() is None
            key, value = message.key(), message.value()
            self.found.setdefault(f"{message.topic()}.".removeprefix(self._prefix).removesuffix("."), []).append(
                {
                    "key": None if key is None else json.loads(key),
                    "value": None if value is None else json.loads(value),
                    "headers": [[k, v.decode()] for k, v in message.headers() or []],
                }
            )

    def _is_own(self, topic: str) -> bool:
        return topic.startswith(self._prefix) or topic == self._whole

    def close(self) -> None:
        self._consumer.close()


def postgres_config(server: SqlEndpoint, name: str, **settings: str) -> dict[str, str]:
    """Return the configuration of a connector of this name, as in Debezium's tutorial."""
    return {
        "connector.class": CLASS, "tasks.max": "1", "database.hostname": server.host,
        "database.port": str(server.port), "database.user": server.user, "database.password": server.password,
        "database.dbname": server.database, "topic.prefix": name, "plugin.name": "pgoutput", "slot.name": name,
        "publication.name": name, "publication.autocreate.mode": "filtered", **settings,
    }  # fmt: skip


def create(url: str, name: str, config: Mapping[str, str]) -> None:
    """Create a connector on a worker."""
    answer = requests.post(f"{url}/connectors", json={"name": name, "config": dict(config)}, timeout=120)
    assert answer.ok, answer.text


def free_slot(database: psycopg.Connection[Any], name: str) -> None:
    """Drop a slot and its publication once nobody reads it."""
    limit = Deadline.after(PATIENCE_S)
    database.execute(f"DROP PUBLICATION IF EXISTS {name}".encode())
    while True:
        try:
            database.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [name]
            )
        except psycopg.errors.ObjectInUse:
            # The server's process for a worker that has just ended may still be ending.
            assert limit.wait(0.2)
            continue
        return
