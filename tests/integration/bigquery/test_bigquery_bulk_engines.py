"""A topic of duplicates loaded by Spark, and a table copied past Kafka: killed on the way, each row once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from bigquery_oracle import latest
from test_bigquery_backfill import KilledAtEachStep, topic_of
from test_bigquery_killed import config_of, duplicates, produce

from connect.api.allowed_paths import EVERYWHERE
from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.engines.spark import SparkEngine
from connect.backfill.job.chunk import Step
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.runtime.settings.worker_config import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
FOLDERS = ":".join(str(Path(__file__).parents[up]) for up in (0, 2))
"""Where Spark's Python workers find this test's modules."""
ROWS = 500
KILLED_AT = (Step.CHUNK_READ, Step.MARKER_SENT)


def worker_config(kafka, name: str) -> WorkerConfig:
    return WorkerConfig.parse(
        {
            "bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "key.converter": JSON,
            "value.converter": JSON, "config.storage.topic": f"{name}-configs", "offset.storage.topic":
            f"{name}-offsets", "status.storage.topic": f"{name}-status", "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1", **EVERYWHERE,
        }
    )  # fmt: skip


def spec_of(name: str, **parts: Any) -> BackfillSpec:
    given = {"apiVersion": "backfill/v1", "name": name, "target": {"connector": f"{name}-sink"},
             "engine": {"type": "local"}, "chunking": {"rows": 250, "lanes": 2}}  # fmt: skip
    return BackfillSpec.model_validate({**given, **parts})


@pytest.mark.chaos
@pytest.mark.timeout(900)  # 262 s at a load of 25: each step ends a Python worker of Spark, which starts another one
def test_spark_loads_a_topic_of_duplicates_and_python_workers_that_are_killed_repeat_no_row(
    kafka, dataset, unique, tmp_path
):
    topic = topic_of(kafka, f"{unique}-orders")
    messages = duplicates(seed=8, count=1600)
    produce(kafka, topic, messages)
    engine = {"type": "spark", "master": "local[2,4]", "conf": {"spark.executorEnv.PYTHONPATH": FOLDERS}}
    sink = {**config_of(kafka, dataset, topic), "name": f"{unique}-sink"}
    kills = KilledAtEachStep(tmp_path, KILLED_AT)
    with Driver(spec_of(unique, kind="sink", engine=engine), worker_config(kafka, unique), sink) as driver:
        assert driver.run(SparkEngine(driver.spec.engine, driver.spec.name, kills)).state is JobState.COPIED
        assert verify(driver).is_good
    assert {note.name for note in tmp_path.iterdir()} == {step.name for step in KILLED_AT}
    rows = dataset.rows(topic)
    assert [(row["id"], row["text"]) for row in rows] == [(k, m.text) for k, m in sorted(latest(messages).items())]


def write(database: Path, table: str, rows: Iterable[tuple[int, int, str]]) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY, version INT, name TEXT)")
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", rows)


@pytest.mark.chaos
def test_a_table_is_copied_past_kafka_and_a_later_copy_brings_newer_rows_alone(kafka, dataset, unique, tmp_path):
    database, table = tmp_path / "database", f"{unique}_rows"
    source = {
        "name": f"{unique}-source", "connector.class": "JdbcSourceConnector", "mode": "incrementing",
        "connection.url": f"sqlite:///{database}", "table.whitelist": table, "incrementing.column.name": "id",
        "topic.prefix": "", "topics": table,
    }  # fmt: skip
    sink = {**dataset.settings(dedup__order__by="version", timePartitioningType="NONE"), "topics": table}

    def copy(name: str, notes: Path, killed_at: tuple[Step, ...]) -> None:
        spec = spec_of(name, kind="copy", source={"connector": source["name"]})
        notes.mkdir()
        with Driver(spec, worker_config(kafka, name), source, {**sink, "name": f"{name}-sink"}) as driver:
            assert driver.run(LocalEngine(2, 8, KilledAtEachStep(notes, killed_at))).state is JobState.COPIED
            assert {note.name for note in notes.iterdir()} == {step.name for step in killed_at}
            assert verify(driver).is_good

    write(database, table, ((number, 5, "first") for number in range(1, ROWS + 1)))
    copy(unique, tmp_path / "first", KILLED_AT)
    write(database, table, ((number, 5 + (1 if number % 2 else -1), "second") for number in range(1, ROWS + 1)))
    copy(f"{unique}-again", tmp_path / "second", ())
    wanted = [(number, "second" if number % 2 else "first") for number in range(1, ROWS + 1)]
    assert [(row["id"], row["name"]) for row in dataset.rows(table)] == wanted
