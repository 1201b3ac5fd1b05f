"""Runs a backfill under mode=log on a real worker while six writers commit; after the handover each change comes
once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from backfill_job import KillEachStepOnce, Table
from e2e_worker import WorkerProcess, wait_for
from table_writers import TableWriters, require_order
from test_backfill_local import DriverDiedError, InThisProcess
from test_backfill_spark import HERE

from connect.api.errors import ConfigError
from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.engines.spark import SparkEngine
from connect.backfill.handover import ConnectorsByRest, hand_over
from connect.backfill.job.chunk import Step
from connect.backfill.job.states import JobState
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.verify.verify import verify
from connect.client.rest import Access, ConnectClient
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint

ROWS = 1200


@pytest.fixture(scope="module")
def process(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    started = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "backfill-log")
    started.start()
    yield started
    started.stop()


@pytest.fixture
def logged(table: Table) -> Iterator[dict[str, str]]:
    """The connector's settings; its slot is gone at the end, for which the server would keep its log."""
    table.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, version BIGINT NOT NULL)",
        f"INSERT INTO {{t}} SELECT s, 0 FROM generate_series(1, {ROWS}) s",
    )
    given = {"mode": "log", "slot.name": table.name, "publication.name": table.name, "exactly.once.support": "required"}
    settings = {**table.connector(), **given, "topic.name.format": "bf-${table}", "max.batch.size": "100"}
    yield {key: value for key, value in settings.items() if key != "incrementing.column.name"}
    slot = f"FROM pg_replication_slots WHERE slot_name = '{table.name}'"
    table.run(f"SELECT pg_terminate_backend(active_pid) {slot}")
    wait_for(lambda: not asked(table, f"SELECT slot_name {slot} AND active"), 60, "the end of the slot's reader")
    table.run(f"SELECT pg_drop_replication_slot(slot_name) {slot}")


def asked(table: Table, statement: str) -> list[Any]:
    with table.engine.connect() as connection:
        return list(connection.exec_driver_sql(statement))


def events(table: Table) -> list[tuple[Any, str, int | None]]:
    found = []
    for message in table.records():
        value = None if message.value() is None else json.loads(message.value())["payload"]
        if value is not None:
            after = value["after"]
            found.append((json.loads(message.key())["payload"]["id"], value["op"], after and after["version"]))
    return found


def rebuilt(found: list[tuple[Any, str, int | None]]) -> dict[int, int]:
    rows: dict[int, int] = {}
    for key, operation, version in found:
        if operation == "d":
            rows.pop(key, None)
        elif version is not None:
            rows[key] = version
    return rows


def die_behind_one_lane(tasks: list[LaneTask]) -> None:
    assert run_lane(tasks[0]).rows > 0
    raise DriverDiedError


@pytest.mark.parametrize(
    ("mode", "steps"),
    [
        ("global_snapshot", (Step.MARKER_SENT,)),
        pytest.param("global_snapshot", tuple(Step), marks=pytest.mark.chaos),
        pytest.param("auto", tuple(Step), marks=pytest.mark.chaos),
    ],
)
def test_a_table_that_is_written_to_is_in_its_topic_with_each_change_once_whoever_is_killed(
    table: Table, logged: dict[str, str], process: WorkerProcess, tmp_path: Path, mode: str, steps: tuple[Step, ...]
):
    worker, client = WorkerConfig.parse(dict(process.properties)), ConnectClient(Access(process.url))
    client.create(table.name, logged, "STOPPED")
    kills = KillEachStepOnce(tmp_path, steps)
    parts = {"chunking": {"rows": 100, "lanes": 3}, "limits": {"max_chunk_retries": 8}, "handover": {"mode": mode}}
    with TableWriters(table.engine.url, table.name, ROWS) as writers:
        with Driver(table.spec(**parts), worker, logged) as first, pytest.raises(DriverDiedError):
            first.run(InThisProcess(die_behind_one_lane))
        writers.wait_for(10)
        with Driver(table.spec(**parts), worker, logged) as second:
            copied = second.run(LocalEngine(2, 8, kills))
            assert copied.state is JobState.COPIED
            assert any("not all of one moment" in text for text in copied.warnings) is (mode != "auto")
            assert kills.killed_at == {step.name for step in steps}
            assert verify(second).is_good
            writers.wait_for(20)
            hand_over(second, ConnectorsByRest(client), Deadline.after(60))
        writers.wait_for(20)
    wanted = {row[0]: row[1] for row in asked(table, f"SELECT id, version FROM {table.name}")}
    wait_for(lambda: rebuilt(events(table)) == wanted, 60, "the table in its topic")
    require_order(events(table))
    client.delete(table.name)


@pytest.mark.chaos
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_in_one_snapshot_the_topic_has_the_table_of_one_moment_whichever_lane_is_killed(
    table: Table, logged: dict[str, str], tmp_path: Path, engine: str
):
    kills = KillEachStepOnce(tmp_path, (Step.CHUNK_READ, Step.COMMITTED))
    parts = {"chunking": {"rows": 100, "lanes": 3}, "limits": {"max_chunk_retries": 8, "max_rows_per_second": 400}}
    engines: dict[str, Any] = {
        "local": {"type": "local"},
        "spark": {"type": "spark", "master": "local[2,8]", "conf": HERE},
    }
    spec = table.spec(**parts, engine=engines[engine], handover={"mode": "global_snapshot"})
    ends, ending = (1, ROWS), threading.Event()

    def change_both_ends() -> None:
        while not ending.is_set():
            table.run(f"UPDATE {{t}} SET version = version + 1 WHERE id IN {ends}")

    with Driver(spec, table.worker(), logged) as driver, ThreadPoolExecutor(1) as pool:
        changes = pool.submit(change_both_ends)
        try:
            job = driver.run(
                LocalEngine(2, 8, kills) if engine == "local" else SparkEngine(spec.engine, spec.name, kills)
            )
        finally:
            ending.set()
        changes.result(60)
    assert (job.state, kills.killed_at) == (JobState.COPIED, {"CHUNK_READ", "COMMITTED"})
    assert not any("not all of one moment" in text for text in job.warnings)
    rows = rebuilt(events(table))
    assert sorted(rows) == list(range(1, ROWS + 1))
    versions = {row[0]: row[1] for row in asked(table, f"SELECT id, version FROM {table.name} WHERE id IN {ends}")}
    assert rows[1] == rows[ROWS] < versions[1]
    mine = "backend_xmin IS NOT NULL AND usename = current_user AND pid <> pg_backend_pid()"
    assert not asked(table, f"SELECT pid FROM pg_stat_activity WHERE {mine}")


def test_a_copy_of_a_log_is_refused_before_anything_is_written(table: Table, logged: dict[str, str]):
    sink = {"connector.class": "JdbcSink", "connection.url": logged["connection.url"], "topics": "none"}
    spec = table.spec(kind="copy", target={"connector": "sink"})
    with (
        Driver(spec, table.worker(), logged, sink) as driver,
        pytest.raises(ConfigError, match="change while they are"),
    ):
        driver.begin()
