"""Measures the Cassandra source and the agent to Kafka on a real node: rows and events per second, and the time from a
write to a reader. Beside them the driver's own scan in the same run.
"""

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

import numpy as np
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent
from cassandra.query import BatchStatement, BatchType
from confluent_kafka import Consumer, TopicPartition

from connect.tools.services import KafkaService
from connect.tools.services.cassandra import CassandraEndpoint, CassandraService
from tests.bench.cassandra.orders import PER_PARTITION, TABLE, agent_settings, columns, job_of, row_of
from tests.bench.cassandra.steady_agent import CPU_US, STEADY_AGENT, steady_cpu_us
from tests.bench.measure import Figure
from tests.bench.throughput import new_topic, run

ROWS = 200_000
ROUNDS = 6
STEADY_PER_S, STEADY_S, WARM_UP_S = 500, 10.0, 4.0
TARGETS = {
    "rows/s of a task": 150_000.0, "cpu us per row": 7.0, "events/s to the topic": 100_000.0, "p50 ms": 150.0,
    "agent's memory MB": 300.0, STEADY_AGENT: CPU_US,
}  # fmt: skip
SETTINGS = {
    "storage_compatibility_mode": "NONE", "commitlog_compression": [{"class_name": "LZ4Compressor"}],
    "commitlog_segment_size": "32MiB", "cdc_total_space": "2048MiB", "memtable_heap_space": "256MiB",
}  # fmt: skip
_WRITTEN = re.compile(rb'"writetime_us":(\d+)')
Entry = dict[str, object]


def cassandra_entries(kafka: KafkaService, say: Callable[[str], None]) -> list[Entry]:
    """The rows of bench-cassandra.json."""
    with CassandraService(settings=SETTINGS, heap_mib=1024, optimised=True) as service:
        endpoint = service.endpoint
        cluster = Cluster([endpoint.host], port=endpoint.port, connect_timeout=30)
        session = cluster.connect()
        session.default_timeout = 60
        keyspace = f"bench_{uuid.uuid4().hex[:6]}"
        session.execute(
            f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        )
        session.set_keyspace(keyspace)
        session.execute(TABLE)
        say(f"filling a table of {ROWS:,} rows")
        _fill(session)
        events = _agent(kafka, endpoint, keyspace, ROWS)
        say(f"agent: {events.rows_per_s:,.0f} events/s")
        where = {"host": endpoint.host, "port": str(endpoint.port), "table": f"{keyspace}.orders"}
        # In turn, and the fastest of each counts: the first ones are read at half of the speed, until Java has compiled
        # what reads.
        scans, sources = [], []
        for number in range(ROUNDS):
            scans.append(run("driver_scan", {**where, "partition_key": "customer"}))
            sources.append(_source(kafka, endpoint, keyspace, number))
        scan, rows = (max(figures, key=lambda figure: figure.rows_per_s) for figures in (scans, sources))
        say(f"source: {rows.rows_per_s:,.0f} rows/s; the driver's scan: {scan.rows_per_s:,.0f}")
        p50_ms, p99_ms = _latency(kafka, endpoint, keyspace, session)
        steady_us = steady_cpu_us(kafka, endpoint, keyspace, session)
        say(f"agent at a steady rate: {steady_us:.1f} us of CPU per event")
        cluster.shutdown()
    found = {
        "rows/s of a task": rows.rows_per_s, "cpu us per row": rows.cpu_s_per_mrow,
        "source's memory MB": rows.max_rss_mb,
        "the driver's scan, rows/s": scan.rows_per_s, "the driver's scan, cpu us per row": scan.cpu_s_per_mrow,
        "events/s to the topic": events.rows_per_s, "cpu us per event": events.cpu_s_per_mrow,
        "agent's memory MB": events.max_rss_mb, "p50 ms": p50_ms, "p99 ms": p99_ms,
        STEADY_AGENT: steady_us,
    }  # fmt: skip
    entries: list[Entry] = [
        {"name": f"Cassandra, {name}", "ours": value, "target": TARGETS.get(name)} for name, value in found.items()
    ]
    entries[0]["profile"] = rows.profile
    entries[5]["profile"] = events.profile
    return entries


def _fill(session: Session) -> None:
    insert = session.prepare(f"INSERT INTO orders ({columns()}) VALUES ({', '.join('?' * 12)})")

    def partition(customer: int) -> BatchStatement:
        batch = BatchStatement(BatchType.UNLOGGED)
        for line in range(PER_PARTITION):
            batch.add(insert, row_of(customer, line))
        return batch

    statements = ((partition(customer), ()) for customer in range(ROWS // PER_PARTITION))
    for done in execute_concurrent(session, statements, concurrency=32, results_generator=True):
        assert done.success, done.result_or_exc


def _agent(kafka: KafkaService, endpoint: CassandraEndpoint, keyspace: str, events: int) -> Figure:
    return run(
        "source_to_kafka", {**job_of(kafka), "rows": str(events), "connector": agent_settings(endpoint, keyspace)}
    )


def _source(kafka: KafkaService, endpoint: CassandraEndpoint, keyspace: str, number: int) -> Figure:
    connector = {
        "name": f"source-{keyspace}-{number}", "connector.class": "connect.cassandra.CassandraSourceConnector",
        "contact.points": endpoint.host, "port": str(endpoint.port), "keyspace": keyspace,
        "topic.prefix": f"rows-{number}.", "consistency.level": "ONE", "table.splits": "12",
    }  # fmt: skip
    return run("source_to_kafka", {**job_of(kafka), "rows": str(ROWS), "connector": json.dumps(connector)})


def _latency(kafka: KafkaService, endpoint: CassandraEndpoint, keyspace: str, session: Session) -> tuple[float, float]:
    """From the writetime of a row to a consumer, at a steady rate; the warm-up does not count."""
    prefix = new_topic(kafka, "latency") + "."
    job = {**job_of(kafka), "rows": "0", "connector": agent_settings(endpoint, keyspace, prefix)}
    argv = [sys.executable, "-m", "tests.bench.jobs", "source_until_told", json.dumps(job)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ})
    consumer = Consumer(
        {"bootstrap.servers": kafka.endpoint.bootstrap_servers, "group.id": "none", "fetch.wait.max.ms": 5,
         "topic.metadata.refresh.interval.ms": 200, "allow.auto.create.topics": True}
    )  # fmt: skip
    consumer.assign([TopicPartition(f"{prefix}{keyspace}.orders", 0, 0)])
    ending = threading.Event()
    insert = session.prepare(f"INSERT INTO orders ({columns()}) VALUES ({', '.join('?' * 12)})")

    def write() -> None:
        number = 0
        while not ending.wait(1 / STEADY_PER_S):
            session.execute_async(insert, row_of(10_000_000 + number, 0))
            number += 1

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    ages_ms: list[float] = []
    first_s: float | None = None
    limit_s = time.monotonic() + 120
    try:
        while first_s is None or time.monotonic() < first_s + WARM_UP_S + STEADY_S:
            if time.monotonic() > limit_s:
                raise TimeoutError("The agent does not deliver.")
            messages = [m for m in consumer.consume(1000, 0.005) if m.error() is None]
            now_us = time.time_ns() // 1000
            if messages and first_s is None:
                first_s = time.monotonic()
            for message in messages if first_s is not None and time.monotonic() > first_s + WARM_UP_S else ():
                written = _WRITTEN.search(message.value())
                assert written is not None
                ages_ms.append((now_us - int(written[1])) / 1000)
    finally:
        ending.set()
        writer.join()
        process.communicate(b"\n", timeout=60)
        consumer.close()
    p50, p99 = np.percentile(np.array(ages_ms), [50, 99])
    return float(p50), float(p99)
