"""Debezium's own JDBC sink and ours make the same tables of the same events."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa
from confluent_kafka import Producer
from debezium_peer import JSON, PATIENCE_S, create, java_worker
from debezium_recordings import FOLDER, RECORDINGS
from debezium_sink_events import KEY, batches, events, table_of, truncation

from connect.api.allowed_paths import EVERYWHERE
from connect.api.records import Batch, Column, TopicPartition
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.connector import DebeziumSinkConnector

pytestmark = pytest.mark.timeout(400)
CLASS = "io.debezium.connector.jdbc.JdbcSinkConnector"
DATABASES = {"postgres": ("postgresql", "postgresql+psycopg"), "mariadb": ("mariadb", "mysql+pymysql")}
database = pytest.mark.parametrize("database", DATABASES)


@contextmanager
def engine_of(endpoint: SqlEndpoint, driver: str) -> Iterator[sa.Engine]:
    e = endpoint
    engine = sa.create_engine(sa.URL.create(driver, e.user, e.password, e.host, e.port, e.database))
    try:
        yield engine
    finally:
        engine.dispose()


def config_of(endpoint: SqlEndpoint, database: str, topic: str) -> dict[str, str]:
    e = endpoint
    return {
        "connector.class": CLASS, "tasks.max": "1", "topics": topic,
        "connection.url": f"jdbc:{DATABASES[database][0]}://{e.host}:{e.port}/{e.database}",
        "connection.username": e.user, "connection.password": e.password, "insert.mode": "upsert",
        "primary.key.mode": "record_key", "delete.enabled": "true", "schema.evolution": "basic",
    }  # fmt: skip


def ours(
    endpoint: SqlEndpoint, database: str, topic: str, further: Sequence[Batch] = (), **settings: str
) -> dict[str, Any]:
    """Put the events and further ones by our sink, and return the table. `settings` has keys with `__` for each dot."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    config = {**config_of(endpoint, database, topic), **own, **EVERYWHERE}
    task = DebeziumSinkConnector(DebeziumSinkConfig.parse(config)).task(config)
    task.open(FakeSinkContext())
    task.assigned([TopicPartition(topic, 0)])
    try:
        for batch in [*batches(topic, database), *further]:
            task.put(batch, Deadline.after(60))
    finally:
        task.close()
    with engine_of(endpoint, DATABASES[database][1]) as engine:
        return table_of(engine, topic.replace(".", "_"))


def produce(bootstrap_servers: str, topic: str, database: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    key, value = JsonConverter(JsonConfig.parse({}), is_key=True), JsonConverter(JsonConfig.parse({}))
    for number, schema, event in events(database):
        [told] = [None] if event is None else value.encode(topic, Column.from_rows([event], schema)).to_pylist()
        [of_key] = key.encode(topic, Column.from_rows([{"Id": number}], KEY)).to_pylist()
        producer.produce(topic, told, of_key, partition=0)
    assert producer.flush(30) == 0


@database
@pytest.mark.chaos
def test_tables_are_those_of_debezium(
    request: pytest.FixtureRequest, kafka: KafkaEndpoint, tmp_path: Path, database: str
) -> None:
    endpoint: SqlEndpoint = request.getfixturevalue(database)
    name = f"dbzsink_{secrets.token_hex(4)}"
    topic = f"{name}.java.t"
    produce(kafka.bootstrap_servers, topic, database)
    converters = {"key.converter": JSON, "value.converter": JSON}
    with (
        java_worker(kafka.bootstrap_servers, name, tmp_path / "java", "jdbc") as url,
        engine_of(endpoint, DATABASES[database][1]) as engine,
    ):
        create(url, name, {**config_of(endpoint, database, topic), **converters})
        java = until_has(engine, topic.replace(".", "_"), "wide", f"{url}/connectors/{name}/status")
    if RECORDINGS in os.environ:
        (Path(os.environ[RECORDINGS]) / f"sink-{database}.json").write_text(json.dumps(java, indent=1) + "\n")
    require_alike(ours(endpoint, database, f"{name}.ours.t"), java)


def require_alike(ours: dict[str, Any], java: dict[str, Any]) -> None:
    """Fail with the columns that differ, or else with the tables."""
    columns = ours["columns"]
    assert {
        name: (columns.get(name), told) for name, told in java["columns"].items() if columns.get(name) != told
    } == {}
    assert ours == java


def until_has(engine: sa.Engine, table: str, kind: str, status_url: str) -> dict[str, Any]:
    """Return a table once it has a row of a kind, and fail with the task that fails before."""
    limit = Deadline.after(PATIENCE_S)
    while True:
        rows = table_of(engine, table)["rows"] if sa.inspect(engine).has_table(table) else []
        if any(row["kind"] == kind for row in rows):
            return table_of(engine, table)  # a column may have been added after its columns were read
        status = requests.get(status_url, timeout=30).json()
        assert not any(task["state"] == "FAILED" for task in status.get("tasks", ())), status["tasks"][0]["trace"]
        assert limit.wait(0.5), "Debezium's sink wrote no such row."


@database
def test_tables_are_those_that_debezium_was_seen_to_make(
    request: pytest.FixtureRequest, unique: str, database: str
) -> None:
    recorded = json.loads((FOLDER / f"sink-{database}.json").read_text())
    require_alike(ours(request.getfixturevalue(database), database, f"{unique}.ours.t"), recorded)


@database
def test_a_truncation_empties_the_table(request: pytest.FixtureRequest, unique: str, database: str) -> None:
    endpoint, topic = request.getfixturevalue(database), f"{unique}.emptied.t"
    emptied = truncation(topic, database, len(events(database)))
    found = ours(endpoint, database, topic, [emptied], truncate__enabled="true")
    assert [row["kind"] for row in found["rows"]] == ["behind"]
    found = ours(endpoint, database, f"{topic}2", [truncation(f"{topic}2", database, len(events(database)))])
    assert [row["kind"] for row in found["rows"]] == ["full", "changed", "there", "wide", "behind"]
