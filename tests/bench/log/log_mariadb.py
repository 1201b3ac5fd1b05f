"""Measures the binary log of MariaDB to Kafka: changes per second of a table like PostgreSQL's."""

from __future__ import annotations

import json
import threading
import time
import uuid

import pymysql
from confluent_kafka import Consumer, TopicPartition

from connect.tools.services import KafkaService
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.sql import SqlEndpoint
from tests.bench.measure import Figure
from tests.bench.throughput import run

CHANGES = 200_000
_COLUMNS = (
    "id BIGINT PRIMARY KEY, customer INT NOT NULL, state SMALLINT NOT NULL, paid BOOLEAN, total DECIMAL(12,2), "
    "weight DOUBLE, name VARCHAR(40), street VARCHAR(40), city VARCHAR(40), country CHAR(2), note TEXT, "
    "made DATETIME(6) NOT NULL, changed TIMESTAMP(6) NOT NULL"
)
_ROWS = (
    "INSERT INTO orders SELECT i, mod(i, 1000), mod(i, 100), mod(i, 2) = 0, i * 1.01, i / 3.0, "
    "concat('customer name ', i), concat('street of ', i), concat('city ', mod(i, 1000)), 'DE', "
    "if(mod(i, 3) > 0, concat('a note about the order ', i), NULL), now(6), now(6) "
    "FROM (SELECT seq AS i FROM seq_{first}_to_{last}) s"
)
_PER_TRANSACTION = 1000


def measure_mariadb(kafka: KafkaService) -> Figure:
    """Changes that a writer makes faster than they are read. ArtifactError: there is no MariaDB here."""
    service = MariaDbService()
    service.prepare()
    with service:
        name = f"log_{uuid.uuid4().hex[:6]}"
        _write(service.endpoint, f"CREATE TABLE orders ({_COLUMNS})", _ROWS.format(first=0, last=0))
        settings = {
            "bootstrap": kafka.endpoint.bootstrap_servers, "rows": str(CHANGES + 1),
            "connector": json.dumps(_connector(service.endpoint, name)),
        }  # fmt: skip
        found: list[Figure] = []
        reader = threading.Thread(target=lambda: found.append(run("source_to_kafka", settings)))
        reader.start()
        _wait_for_first(kafka, f"{name}.{service.endpoint.database}.orders")
        starts = range(1, CHANGES + 1, _PER_TRANSACTION)
        _write(service.endpoint, *(_ROWS.format(first=i, last=i + _PER_TRANSACTION - 1) for i in starts))
        reader.join()
        return found[0]


def _connector(e: SqlEndpoint, name: str) -> dict[str, str]:
    return {
        "name": name, "connector.class": "JdbcSourceConnector", "mode": "log", "topic.prefix": name,
        "connection.url": f"jdbc:mariadb://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
        "connection.password": e.password, "table.whitelist": "orders", "timestamp.granularity": "micros_long",
    }  # fmt: skip


def _write(e: SqlEndpoint, *statements: str) -> None:
    connection = pymysql.connect(
        host=e.host, port=e.port, user=e.user, password=e.password, database=e.database, autocommit=True
    )
    with connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _wait_for_first(kafka: KafkaService, topic: str) -> None:
    settings = {
        "bootstrap.servers": kafka.endpoint.bootstrap_servers, "group.id": "none",
        "topic.metadata.refresh.interval.ms": 200, "allow.auto.create.topics": True,
    }  # fmt: skip
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    limit_s = time.monotonic() + 60
    while not any(m.error() is None for m in consumer.consume(1, 0.2)):
        if time.monotonic() > limit_s:
            raise TimeoutError("The connector does not deliver.")
    consumer.close()
