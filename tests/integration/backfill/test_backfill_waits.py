"""Checks what a person reads of a backfill that waits, lacks a table or Java, or is broken off, and what to do."""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from backfill_job import OneAfterTheOther, Table
from click.testing import CliRunner, Result
from confluent_kafka import Producer
from e2e_worker import wait_for

from connect.api.errors import ConfigError, RetriableError
from connect.backfill.handover import write_offsets
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.markers import Marker
from connect.backfill.job.states import JobState, JobStateError
from connect.cli.backfill import backfill
from connect.lib.deadline import Deadline

ROWS = 2000


def files(table: Table, folder: Path, connector: dict[str, str] | None = None, **parts: Any) -> Path:
    """The worker's, connector's and job's files; the latter."""
    (folder / "worker.properties").write_text(
        "".join(f"{key}={text}\n" for key, text in table.worker_properties().items())
    )
    (folder / "c.json").write_text(json.dumps({"name": table.name, "config": connector or table.connector()}))
    job = {
        "apiVersion": "backfill/v1", "name": table.name, "source": {"connector": table.name, "config": "c.json"},
        "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 100, "lanes": 2},
        "state": {"jobs_topic": f"{table.name}-jobs"}, **parts,
    }  # fmt: skip
    (folder / "job.yaml").write_text(json.dumps(job))
    return folder / "job.yaml"


def typed(job: Path, command: str, *words: str) -> Result:
    return CliRunner().invoke(backfill, [command, str(job), "--worker", str(job.parent / "worker.properties"), *words])


def test_a_job_that_is_interrupted_says_how_to_go_on_and_is_running_no_longer(table: Table, tmp_path: Path):
    table.fill(ROWS)
    job = files(table, tmp_path, limits={"max_rows_per_second": 30})  # a minute: a look takes seconds where it is slow
    argv = [sys.executable, "-m", "connect.cli", "backfill", "resume", str(job), "--worker", "worker.properties"]
    # A group of its own, as a terminal has: Ctrl-C goes to all of it.
    running = subprocess.Popen(
        argv, cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    wait_for(lambda: table.ids() or running.poll() is not None, 120, "the first rows")
    os.killpg(running.pid, signal.SIGINT)
    told, _ = running.communicate(timeout=60)
    assert running.returncode == 130, told
    assert re.search(
        rf"backfill {table.name} was interrupted\. What is in Kafka stays; go on by the same command", told
    )
    assert "Traceback" not in told
    assert 0 < len(table.ids()) < ROWS
    assert table.driver().ownership.require_known().state is JobState.PAUSED
    assert typed(job, "status").output.startswith("PAUSED")
    lifted = files(table, tmp_path)
    done = typed(lifted, "resume")
    assert done.exit_code == 0, done.output
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


@pytest.mark.parametrize("mode", ["incrementing", "log"])
def test_a_wait_for_an_open_transaction_names_its_session(
    table: Table, mode: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("connectors.jdbc.database.open_sessions._TOLD_S", 1.0)
    table.fill(10)
    given = {"mode": "log", "slot.name": table.name, "publication.name": table.name, "topic.name.format": "bf-${table}"}
    connector = table.connector() | (given if mode == "log" else {})
    if mode == "log":
        del connector["incrementing.column.name"]
    with table.engine.connect() as open_one:
        pid = open_one.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        open_one.exec_driver_sql("SET application_name = 'shop'")
        open_one.exec_driver_sql(f"INSERT INTO {table.name} (name) VALUES ('secret text')")
        waits = rf"waits for the open transactions of .*session {pid} of \w+.* \(shop, idle in transaction\) since 20"
        with (
            caplog.at_level(logging.WARNING),
            table.driver(connector, handover={"settle": 8}) as driver,
            pytest.raises(RetriableError, match=waits) as caught,
        ):
            driver.begin()
    told = [r.getMessage() for r in caplog.records if re.search(waits, r.getMessage())]
    assert told
    assert not any("secret text" in text for text in (*told, str(caught.value)))


def test_a_missing_table_is_named_by_plan_run_and_status(table: Table, tmp_path: Path):
    none = table.connector(table__whitelist=f"{table.name}_x")
    table.fill(10)
    with table.driver(none) as driver, pytest.raises(ConfigError) as caught:
        driver.begin()
    assert re.search(
        rf"No table matches {table.name}_x of table\.whitelist in .*Is {table.name} meant\?", str(caught.value)
    )
    some = table.connector(table__whitelist=f"{table.name},{table.name}_x")
    job = files(table, tmp_path, some)
    planned = typed(job, "plan")
    assert (planned.exit_code, f"warning: No table matches {table.name}_x" in planned.output) == (0, True), (
        planned.output
    )
    ran = typed(job, "resume")
    assert (ran.exit_code, f"warning: No table matches {table.name}_x" in ran.output) == (0, True), ran.output
    assert f"warning: No table matches {table.name}_x" in typed(job, "status").output


def test_a_plan_for_spark_says_that_java_is_missing(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table.fill(10)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    refused = typed(files(table, tmp_path, engine={"type": "spark"}), "plan")
    assert (refused.exit_code, "Spark needs Java 17 or later" in refused.output) == (1, True)
    assert typed(files(table, tmp_path), "plan").exit_code == 0


def test_markers_that_can_be_read_a_moment_after_their_commit_are_waited_for(
    table: Table, monkeypatch: pytest.MonkeyPatch
):
    table.fill(10)
    all_markers, looks = JobStore.all_markers, itertools.count()

    def late(self: JobStore, deadline: Deadline) -> list[Marker]:
        found = all_markers(self, deadline)
        return found[:-1] if next(looks) == 1 else found

    with table.driver() as driver:
        driver.begin()
        monkeypatch.setattr(JobStore, "all_markers", late)
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED


def test_status_is_told_beside_a_transaction_that_nobody_ends(table: Table, tmp_path: Path):
    table.fill(10)
    job = files(table, tmp_path)
    assert typed(job, "resume").exit_code == 0
    died = Producer({"bootstrap.servers": table.kafka.bootstrap_servers, "transactional.id": f"{table.name}-died"})
    died.init_transactions(60)
    died.begin_transaction()
    died.produce(f"{table.name}-jobs", b"{}", b"null", partition=0)
    assert died.flush(60) == 0
    try:
        told = typed(job, "status")
        assert (told.exit_code, told.output.startswith("COPIED")) == (0, True), told.output
    finally:
        died.abort_transaction(60)


def test_a_run_does_not_take_an_older_record_for_the_newest_one_behind_an_open_transaction(table: Table):
    table.fill(10)
    with table.driver() as driver, table.driver() as later:
        job = driver.begin()
        frozen = Producer({"bootstrap.servers": table.kafka.bootstrap_servers, "transactional.id": f"{table.name}-x"})
        frozen.init_transactions(60)
        frozen.begin_transaction()
        frozen.produce(f"{table.name}-jobs", b"{}", b"null", partition=0)
        assert frozen.flush(60) == 0
        try:
            driver.ownership.say(job, JobState.CANCELLED)
            began_s = time.monotonic()
            for take_over in (later.begin, partial(write_offsets, later)):
                with pytest.raises(RetriableError, match=rf"{table.name}-jobs.*open transaction"):
                    take_over(Deadline.after(2.0))
            assert time.monotonic() - began_s < 60, (
                "they wait no longer than they were told, so that the reason is told"
            )
        finally:
            frozen.abort_transaction(60)
        with pytest.raises(JobStateError, match="is CANCELLED"):
            later.begin()
