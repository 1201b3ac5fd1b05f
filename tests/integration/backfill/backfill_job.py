"""Makes a table in PostgreSQL and backfills it into Kafka; the records are read with a client of neither."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa
from confluent_kafka import Consumer, Message, TopicPartition

from connect.backfill.driver import Driver
from connect.backfill.job.chunk import LaneReport, Step
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint

JSON = "org.apache.kafka.connect.json.JsonConverter"


class Table:
    """Holds a table, the configuration of its connector, and the job that reads it."""

    def __init__(self, postgres: SqlEndpoint, kafka: KafkaEndpoint, name: str) -> None:
        self.name = name
        self.kafka = kafka
        self._postgres = postgres
        e = postgres
        self.engine = sa.create_engine(
            sa.URL.create("postgresql+psycopg", e.user, e.password, e.host, e.port, e.database)
        )

    def run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement.format(t=self.name))

    def fill(self, rows: int) -> None:
        """Insert rows 1..n with an instant, a text, and a number that may be null, and update the statistics."""
        self.run(
            "CREATE TABLE {t} (id BIGSERIAL PRIMARY KEY, ts TIMESTAMPTZ(3) NOT NULL DEFAULT now(), name TEXT, n INT)",
            "INSERT INTO {t} (ts, name, n) SELECT now() - INTERVAL '1 hour', 'naïve ' || s, nullif(mod(s, 7), 0) "
            f"FROM generate_series(1, {rows}) s",
        )
        with self.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"ANALYZE {self.name}")

    @property
    def topic(self) -> str:
        return f"bf-{self.name}"

    def worker(self, **settings: str) -> WorkerConfig:
        return WorkerConfig.parse(self.worker_properties(**settings))

    def worker_properties(self, **settings: str) -> dict[str, str]:
        return {
            "bootstrap.servers": self.kafka.bootstrap_servers, "group.id": self.name,
            "config.storage.topic": f"{self.name}-configs", "offset.storage.topic": f"{self.name}-offsets",
            "status.storage.topic": f"{self.name}-status", "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1",
            "offset.storage.partitions": "2", "key.converter": JSON, "value.converter": JSON, **settings,
        }  # fmt: skip

    def connector(self, **settings: str) -> dict[str, str]:
        e = self._postgres
        given = {
            "connector.class": "JdbcSource", "tasks.max": "1", "topic.prefix": "bf-", "table.whitelist": self.name,
            "connection.url": f"jdbc:postgresql://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
            "connection.password": e.password, "mode": "incrementing", "incrementing.column.name": "id",
            "poll.interval.ms": "100", "settle.time.ms": "0",
            "topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1",
        }  # fmt: skip
        return given | {key.replace("__", "."): value for key, value in settings.items()}

    def spec(self, **parts: Any) -> BackfillSpec:
        given: dict[str, Any] = {
            "apiVersion": "backfill/v1", "name": self.name, "source": {"connector": self.name},
            "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 500, "lanes": 2},
            "state": {"jobs_topic": f"{self.name}-jobs"},
        }  # fmt: skip
        return BackfillSpec.model_validate(given | parts)

    def driver(self, connector: Mapping[str, str] | None = None, **parts: Any) -> Driver:
        return Driver(self.spec(**parts), self.worker(), connector or self.connector())

    def records(self, topic: str | None = None) -> list[Message]:
        """Return every committed record of the topic as a plain client reads it; none if there is no topic."""
        return messages(self.kafka, topic or self.topic)

    def ids(self) -> list[int]:
        """Return the ids of all committed records."""
        return [json.loads(message.value())["payload"]["id"] for message in self.records()]


def messages(kafka: KafkaEndpoint, topic: str) -> list[Message]:
    """Return every committed record of a topic as a plain client reads it; none if there is no topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers, "group.id": f"{topic}-reader",
            "isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest",
        }
    )  # fmt: skip
    found: list[Message] = []
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        left = set(partitions)
        while left:
            for message in consumer.consume(5000, 0.2):
                if message.error() is None:
                    found.append(message)
                else:
                    left.discard(message.partition() or 0)
    finally:
        consumer.close()
    return found


class OneAfterTheOther:
    """Is an engine that runs the lanes in this process, one after the other, and has nothing to end."""

    def run(self, tasks: Sequence[LaneTask], _at_once: int) -> list[LaneReport]:
        return [run_lane(task) for task in tasks]

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class KillEachStepOnce:
    """Runs a lane in its process, and kills that with SIGKILL at the first step at which none was killed before.

    With `whose` "executor" it kills the JVM of Spark that the process works for.
    """

    notes: Path
    steps: tuple[Step, ...] = tuple(Step)
    whose: str = "process"

    def __call__(self, task: LaneTask) -> LaneReport:
        def on_step(step: Step, _chunk: str) -> None:
            if step not in self.steps:
                return
            try:
                (self.notes / step.name).touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid() if self.whose == "process" else executor_pid(), signal.SIGKILL)
            threading.Event().wait()  # wait until Spark's worker has ended the processes below the executor

        return run_lane(task, on_step)

    @property
    def killed_at(self) -> set[str]:
        return {note.name for note in self.notes.iterdir()}


@dataclass(frozen=True)
class KillOnce:
    """Kills a lane of a streaming sink once, at a step."""

    note: Path
    step: Step

    def __call__(self, step: Step, _lane: int, _batch: int) -> None:
        if step is not self.step or self.note.exists():
            return
        self.note.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def executor_pid() -> int:
    """Return the process id of the JVM that this process of Spark works for."""
    return next(parent.pid for parent in psutil.Process().parents() if "java" in parent.name())
