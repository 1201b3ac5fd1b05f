"""Measures mode=log from one slot of PostgreSQL to Kafka: changes per second, and the time from commit to a reader."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from confluent_kafka import Consumer, TopicPartition
from rich.table import Table

from connect.tools.services import KafkaService
from connect.tools.services.postgres import PostgresService, _binary
from connect.tools.services.process.errors import ArtifactError
from tests.bench.log.log_mariadb import measure_mariadb
from tests.bench.log.log_tables import Database
from tests.bench.measure import Figure
from tests.bench.throughput import run

CHANGES = 600_000
STEADY_PER_S, STEADY_S, WARM_UP_S = 10_000, 20.0, 5.0
TARGETS = {"changes/s": 60_000.0, "p50 ms": 50.0, "p99 ms": 200.0}
_COMMIT = re.compile(rb'"ts_us":(\d+)')


@dataclass(frozen=True)
class Latency:
    """From the server's commit to a consumer, at a steady rate."""

    rows: int
    rows_per_s: float
    p50_ms: float
    p99_ms: float


def log_entries(kafka: KafkaService, say: Callable[[str], None]) -> list[dict]:
    """One entry per figure, with what it must reach; none without a PostgreSQL."""
    service = PostgresService()
    try:
        service.prepare()
    except ArtifactError as error:
        say(f"mode=log is left out: {error}")
        return []
    with service:
        database = Database(service.endpoint)
        ceiling = _ceiling(database)
        say(f"pg_recvlogical, to nowhere: {ceiling:,.0f} changes/s")
        figure = _sustained(kafka, database)
        say(f"mode=log: {figure.rows_per_s:,.0f} changes/s, {figure.cpu_s_per_mrow:.2f} cpu s per million")
        once = _sustained(kafka, database, exactly_once="yes")
        say(f"mode=log, exactly once: {once.rows_per_s:,.0f} changes/s, {once.cpu_s_per_mrow:.2f} cpu s per million")
        latency = _latency(kafka, database)
        say(
            f"mode=log at {latency.rows_per_s:,.0f} changes/s: p50 {latency.p50_ms:.0f} ms, p99 {latency.p99_ms:.0f} ms"
        )
    found = {
        "changes/s": figure.rows_per_s, "changes/s of pg_recvlogical, to nowhere": ceiling,
        "cpu s per million changes": figure.cpu_s_per_mrow, "RSS MB": figure.max_rss_mb,
        "changes/s, exactly once": once.rows_per_s, "cpu s per million changes, exactly once": once.cpu_s_per_mrow,
        "steady changes/s": latency.rows_per_s, "p50 ms": latency.p50_ms, "p99 ms": latency.p99_ms,
    }  # fmt: skip
    entries = [{"name": f"PostgreSQL log, {n}", "ours": value, "target": TARGETS.get(n)} for n, value in found.items()]
    entries[0]["profile"] = figure.profile
    try:
        mariadb = measure_mariadb(kafka)
    except ArtifactError as error:
        say(f"MariaDB's log is left out: {error}")
        return entries
    beside = {"changes/s": mariadb.rows_per_s, "cpu s per million changes": mariadb.cpu_s_per_mrow}
    more = [{"name": f"MariaDB log, {n}", "ours": v, "target": None} for n, v in beside.items()]
    more[0]["profile"] = mariadb.profile
    return [*entries, *more]


def log_table(entries: list[dict]) -> Table:
    """The entries as people read them."""
    table = Table("figure", "ours", "target")
    for e in entries:
        table.add_row(e["name"], f"{e['ours']:,.1f}", "" if e["target"] is None else f"{e['target']:,.0f}")
    return table


def _sustained(kafka: KafkaService, database: Database, **more: str) -> Figure:
    """A backlog of transactions, read as fast as it goes. `more`: settings of the job."""
    name = f"log_{uuid.uuid4().hex[:6]}"
    database.prepare(name)
    database.fill(CHANGES)
    figure = run("source_to_kafka", {**_job(kafka, database, name, CHANGES), **more})
    database.forget(name)
    return figure


def _ceiling(database: Database) -> float:
    """What the server gives to its own client, which throws it away."""
    name = f"log_{uuid.uuid4().hex[:6]}"
    database.prepare(name)
    database.fill(CHANGES)
    e = database.endpoint
    argv = [
        str(_binary("pg_recvlogical")), "-h", e.host, "-p", str(e.port), "-U", e.user, "-d", e.database, "--start",
        "--slot", name, "-o", "proto_version=1", "-o", f"publication_names={name}", "-f", os.devnull, "--no-loop",
        "--endpos", database.end(),
    ]  # fmt: skip
    begun_s = time.monotonic()
    subprocess.run(argv, env={**os.environ, "PGPASSWORD": e.password}, check=True, timeout=300)
    spent_s = time.monotonic() - begun_s
    database.forget(name)
    return CHANGES / spent_s


def _latency(kafka: KafkaService, database: Database) -> Latency:
    name = f"log_{uuid.uuid4().hex[:6]}"
    database.prepare(name)
    job = _job(kafka, database, name, 0)
    argv = [sys.executable, "-m", "tests.bench.jobs", "source_until_told", json.dumps(job)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ})
    try:
        found = _arrivals(kafka, database, name)
    finally:
        process.communicate(b"\n", timeout=60)
    database.forget(name)
    return found


def _arrivals(kafka: KafkaService, database: Database, name: str) -> Latency:
    """Every record's age when a consumer has it; those of the warm-up do not count."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.endpoint.bootstrap_servers, "group.id": "none", "fetch.wait.max.ms": 5,
            "topic.metadata.refresh.interval.ms": 200, "allow.auto.create.topics": True,
        }
    )  # fmt: skip
    consumer.assign([TopicPartition(database.topic(name), 0, 0)])
    written: list[int] = []

    def write() -> None:
        written.append(database.write_steadily(STEADY_PER_S, WARM_UP_S + STEADY_S))

    writer = threading.Thread(target=write)
    ages_us: list[int] = []
    commits_us: list[int] = []
    limit_s = time.monotonic() + WARM_UP_S + STEADY_S + 60
    database.write_one()
    while not any(m.error() is None for m in consumer.consume(1, 1.0)):
        if time.monotonic() > limit_s:
            raise TimeoutError("The connector does not deliver.")
    rows = 0
    writer.start()
    while writer.is_alive() or rows < written[0]:
        if time.monotonic() > limit_s:
            raise TimeoutError(f"{rows} records of {written}")
        messages = [m for m in consumer.consume(5000, 0.005) if m.error() is None]
        now_us = time.time_ns() // 1000
        rows += len(messages)
        for message in messages:
            commit = _COMMIT.search(message.value())
            assert commit is not None
            commits_us.append(int(commit[1]))
            ages_us.append(now_us - commits_us[-1])
    consumer.close()
    commits, ages = np.array(commits_us), np.array(ages_us)
    counted = commits > commits[0] + WARM_UP_S * 1e6
    span_s = (commits[counted][-1] - commits[counted][0]) / 1e6
    p50, p99 = np.percentile(ages[counted], [50, 99]) / 1000
    return Latency(int(counted.sum()), float(counted.sum() / span_s), float(p50), float(p99))


def _job(kafka: KafkaService, database: Database, name: str, rows: int) -> dict[str, str]:
    return {
        "bootstrap": kafka.endpoint.bootstrap_servers, "rows": str(rows),
        "connector": json.dumps(database.connector(name)),
    }  # fmt: skip
