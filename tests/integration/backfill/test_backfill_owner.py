"""Checks that a job belongs to one cluster, and that its record in Kafka cannot choose the code that is run for it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from backfill_job import OneAfterTheOther, Table
from click.testing import CliRunner, Result
from confluent_kafka.admin import AdminClient

from connect.api.errors import ConnectError
from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.handover import write_offsets
from connect.backfill.job.job import Job
from connect.backfill.job.job_store import JobStore, StateTopics
from connect.backfill.job.markers import HandoverMarker
from connect.backfill.job.states import JobState, JobStateError
from connect.cli.backfill import backfill
from connect.kafka.client.settings import producer_settings
from connect.kafka.produce.producer import BatchProducer
from connect.lib.deadline import Deadline

ROWS = 600


def plant(table: Table, job: Job) -> None:
    """Write a job's record, as anybody may who may write to the topic."""
    settings = producer_settings(table.worker().originals, {}, client_id="planter").properties
    producer = BatchProducer(settings)
    producer.send(JobStore(table.worker(), StateTopics(f"{table.name}-jobs", "", 0)).job_batch(job), Deadline.after(30))
    producer.flush(Deadline.after(30))
    producer.close()


def typed(table: Table, folder: Path, *words: str) -> Result:
    """What a command says of the job, by its name."""
    worker = folder / "worker.properties"
    worker.write_text("".join(f"{key}={text}\n" for key, text in table.worker_properties().items()))
    options = ("--worker", str(worker), "--jobs-topic", f"{table.name}-jobs")
    return CliRunner().invoke(backfill, [words[0], table.name, *options, *words[1:]])


@pytest.fixture
def paused(table: Table, tmp_path: Path) -> Job:
    """A job that was planned and not run; its connector is in the config topic."""
    table.fill(ROWS)
    with table.driver() as driver:
        return driver.begin()


def test_a_planted_engine_runs_nothing_on_the_machine_of_whoever_resumes_the_job_by_its_name(
    table: Table, paused: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    proof, python = tmp_path / "proof", tmp_path / "python3"
    python.write_text(f"#!/bin/sh\ntouch {proof}\n")
    python.chmod(0o755)
    conf = {"spark.pyspark.python": str(python)}
    plant(table, replace(paused, spec={**paused.spec, "engine": {"type": "spark", "conf": conf}}))
    known = {table.name: table.connector()}
    monkeypatch.setattr("connect.backfill.job.connectors.read_connectors", lambda *_: known)
    for words in (("resume",), ("run",)):
        refused = typed(table, tmp_path, *words)
        assert refused.exit_code == 1
        assert f"engine.conf of job {table.name}: it runs code of its author's choice" in refused.output
        assert json.dumps(conf) in refused.output
    assert typed(table, tmp_path, "status").exit_code == 0, "which runs no engine"
    status = json.loads(typed(table, tmp_path, "status", "--json").output)
    assert (status["name"], status["state"], status["progress"]["rows_done"]) == (table.name, paused.state, 0)
    assert typed(table, tmp_path, "status", "--json", "-f").exit_code == 2
    assert not proof.exists()
    assert table.ids() == []
    done = typed(table, tmp_path, "resume", "--engine", "{type: local, processes: 1}")
    assert done.exit_code == 0, done.output
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
    wrong = typed(table, tmp_path, "resume", "--engine", "{type: locl}")
    assert (wrong.exit_code, "--engine.type: input should be 'spark' or 'local'" in wrong.output) == (1, True)


def test_the_driver_of_another_cluster_is_refused_and_shuts_nobody_out(table: Table):
    table.fill(ROWS)
    theirs = table.worker(**{"group.id": f"{table.name}-other"})
    with table.driver() as mine:
        mine.begin()
        for state in ({"jobs_topic": f"{table.name}-jobs"}, {"jobs_topic": f"{table.name}-jobs-2"}):
            with Driver(table.spec(state=state), theirs, table.connector()) as other:
                with pytest.raises(JobStateError, match=rf"cluster with group\.id={table.name}\W"):
                    other.begin()
                with pytest.raises(ConnectError, match=r"cluster with group\.id=|There is no backfill"):
                    other.cancel()
        assert mine.run(LocalEngine(2, 3)).state is JobState.COPIED
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
    with Driver(table.spec(), theirs, table.connector()) as other, pytest.raises(JobStateError):
        other.ownership.require_known()


def test_a_job_of_a_release_that_knew_no_owners_belongs_to_the_cluster_that_runs_it_next(table: Table, paused: Job):
    plant(table, replace(paused, group=""))
    with table.driver() as driver:
        assert driver.run(OneAfterTheOther()).group == table.name
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


def test_a_job_is_not_planned_over_the_markers_of_another_one(table: Table):
    table.fill(ROWS)
    state = {"jobs_topic": f"{table.name}-jobs", "marker_topic": f"{table.name}-shared"}
    with table.driver(state=state) as first:
        first.run(OneAfterTheOther())
    table.run(f"INSERT INTO {{t}} (name) SELECT 'later' FROM generate_series(1, {ROWS})")
    with table.driver(state=state, name=f"{table.name}-b") as second:
        with pytest.raises(JobStateError, match=rf"markers of backfill {table.name}\W.*state\.marker_topic"):
            second.begin()
        assert second.ownership.look() is None


def test_a_job_whose_record_is_lost_is_not_planned_anew_over_its_markers(table: Table):
    table.fill(ROWS)
    with table.driver() as driver:
        driver.run(OneAfterTheOther())
    jobs, admin = f"{table.name}-jobs", AdminClient({"bootstrap.servers": table.kafka.bootstrap_servers})
    admin.delete_topics([jobs])[jobs].result(30)
    table.run(f"INSERT INTO {{t}} (name) SELECT 'later' FROM generate_series(1, {ROWS})")
    with table.driver() as driver, pytest.raises(JobStateError, match=r"has markers of chunks.*another name"):
        driver.begin()


def test_a_handover_that_is_not_the_jobs_own_is_an_error(table: Table, paused: Job):
    with table.driver() as driver:
        copied = driver.run(OneAfterTheOther())
        driver.ownership.write([driver.store.driver_batch([HandoverMarker(copied.positions, 1).record])])
        with pytest.raises(ConnectError, match=r"says that a job was handed over.*COPIED"):
            write_offsets(driver, Deadline.after(60))
