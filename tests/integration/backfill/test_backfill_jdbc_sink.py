"""Replays a topic into tables of PostgreSQL and MariaDB: killed at each step, each record is there once, and what
follows comes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from backfill_job import KillEachStepOnce, OneAfterTheOther, messages
from confluent_kafka import Producer
from e2e_worker import WorkerProcess, wait_for
from replay_job import JSON, PARTITIONS, Replay

from connect.backfill.engines.local import LocalEngine
from connect.backfill.handover import ConnectorsByRest, hand_over
from connect.backfill.job.chunk import Step
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.client.rest import Access, ConnectClient
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint

ROWS = 1500
KEYS = 300
SERVERS = ["postgresql", pytest.param("mariadb", marks=pytest.mark.chaos)]


class Target:
    """A table of a server, and the sink that writes it."""

    def __init__(self, kind: str, driver: str, endpoint: SqlEndpoint, replay: Replay) -> None:
        e = endpoint
        self.url = f"jdbc:{kind}://{e.host}:{e.port}/{e.database}"
        self.endpoint = endpoint
        self.replay = replay
        self.table = replay.topic.replace("-", "_")
        self.engine = sa.create_engine(sa.URL.create(driver, e.user, e.password, e.host, e.port, e.database))

    def sink(self, **settings: str) -> dict[str, str]:
        given = {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "tasks.max": "1",
            "topics": self.replay.topic, "connection.url": self.url, "connection.user": self.endpoint.user,
            "connection.password": self.endpoint.password, "table.name.format": self.table,
            "offset.flush.interval.ms": "500", "value.converter": JSON, "value.converter.schemas.enable": "false",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        }  # fmt: skip
        return given | {key.replace("__", "."): value for key, value in settings.items()}

    def run(self, statement: str) -> Sequence[Any]:
        with self.engine.begin() as connection:
            result = connection.exec_driver_sql(statement)
            return result.fetchall() if result.returns_rows else ()

    def rows(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row) for row in self.run(f"SELECT id, name FROM {self.table}"))


@pytest.fixture
def replay(kafka: KafkaEndpoint, unique: str) -> Replay:
    return Replay(kafka, unique)


@pytest.fixture
def target(request: pytest.FixtureRequest, replay: Replay) -> Iterator[Target]:
    name, driver = {
        "postgresql": ("postgres", "postgresql+psycopg"),
        "mariadb": ("mariadb", "mariadb+pymysql"),
    }[request.param]
    made = Target(request.param, driver, request.getfixturevalue(name), replay)
    yield made
    made.engine.dispose()


def produce_versions(replay: Replay, versions: range) -> dict[str, Mapping[str, Any] | None]:
    """Records of few keys, again and again, some of them tombstones; the last record of each key."""
    producer = Producer(replay.brokers)
    last: dict[str, Mapping[str, Any] | None] = {}
    for version in versions:
        n = version % KEYS
        value = None if version % 41 == 0 else {"id": n, "name": f"version {version}"}
        body = None if value is None else json.dumps(value)
        producer.produce(replay.topic, body, str(n), partition=n % PARTITIONS)
        last[str(n)] = value
    assert producer.flush(60) == 0
    return last


@pytest.mark.parametrize("target", SERVERS, indirect=True)
def test_rows_without_a_key_are_there_once_and_dead_letters_too_whoever_is_killed(replay, target, tmp_path):
    target.run(f"CREATE TABLE {target.table} (id SMALLINT, name VARCHAR(40))")
    replay.produce(range(ROWS))
    replay.produce(range(40_000, 40_003))
    letters, kills = f"{replay.name}-letters", KillEachStepOnce(tmp_path)
    tolerant = target.sink(
        errors__tolerance="all", errors__deadletterqueue__topic__name=letters,
        errors__deadletterqueue__topic__replication__factor="1",
    )  # fmt: skip
    with replay.driver(tolerant) as driver:
        assert driver.run(LocalEngine(2, 8, kills)).state is JobState.COPIED
        assert kills.killed_at == {step.name for step in Step}
        verdict = verify(driver)
    assert (verdict.missing, verdict.twice, verdict.is_good) == (0, 0, True)
    assert target.rows() == Counter((n, f"naïve {n}") for n in range(ROWS))
    assert sorted(int(m.key()) for m in messages(replay.kafka, letters)) == [40_000, 40_001, 40_002]


@pytest.mark.parametrize("target", SERVERS, indirect=True)
def test_each_key_has_its_last_record_whoever_is_killed(replay, target, tmp_path):
    target.run(f"CREATE TABLE {target.table} (k VARCHAR(20) PRIMARY KEY, id BIGINT, name VARCHAR(40))")
    last = produce_versions(replay, range(ROWS))
    upsert = target.sink(insert__mode="upsert", pk__mode="record_key", pk__fields="k", delete__enabled="true")
    with replay.driver(upsert) as driver:
        assert driver.run(LocalEngine(2, 8, KillEachStepOnce(tmp_path))).state is JobState.COPIED
    assert target.rows() == Counter((row["id"], row["name"]) for row in last.values() if row is not None)


@pytest.fixture(scope="module")
def process(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "backfill-tables")
    process.start()
    yield process
    process.stop()


@pytest.mark.parametrize("target", SERVERS, indirect=True)
def test_the_sink_goes_on_at_the_offsets(replay, target, process):
    target.run(f"CREATE TABLE {target.table} (id BIGINT, name VARCHAR(40))")
    sink = target.sink(exactly__once="true")
    client = ConnectClient(Access(process.url))
    replay.produce(range(ROWS))
    client.create(replay.name, sink, "STOPPED")
    with replay.driver(sink, WorkerConfig.parse(dict(process.properties))) as driver:
        driver.begin()
        replay.produce(range(ROWS, ROWS + 30))
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
        hand_over(driver, ConnectorsByRest(client), Deadline.after(60))
    replay.produce(range(ROWS + 30, ROWS + 60))
    everything = Counter((n, f"naïve {n}") for n in range(ROWS + 60))
    wait_for(lambda: target.rows().keys() == everything.keys(), 60, "the rows of the sink")
    assert target.rows() == everything
    client.delete(replay.name)
