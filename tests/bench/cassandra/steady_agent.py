"""Measures the CPU of the agent for an event while a node is written at a steady rate."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from cassandra.cluster import Session
from confluent_kafka import Consumer, TopicPartition

from connect.tools.services import KafkaService
from connect.tools.services.cassandra import CassandraEndpoint
from tests.bench.cassandra.orders import agent_settings, columns, job_of, row_of
from tests.bench.throughput import new_topic

PER_S, WARM_UP_S, SPAN_S = 1_400, 20.0, 30.0
POLL_MS = 500
"""The agent's default."""
CPU_US = 20.0
STEADY_AGENT = f"cpu us per event at {PER_S:,} changes/s"
_BURSTS_PER_S = 20


def steady_cpu_us(kafka: KafkaService, endpoint: CassandraEndpoint, keyspace: str, session: Session) -> float:
    """Return the microseconds of CPU that the agent and its children spend on an event, by the events in the topic."""
    prefix = new_topic(kafka, "steady") + "."
    settings = agent_settings(endpoint, keyspace, prefix, POLL_MS)
    job = json.dumps({**job_of(kafka), "rows": "0", "connector": settings})
    argv = [sys.executable, "-m", "tests.bench.jobs", "source_until_told", job]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    consumer = Consumer({"bootstrap.servers": kafka.endpoint.bootstrap_servers, "group.id": "none"})
    partition = TopicPartition(f"{prefix}{keyspace}.orders", 0)

    def now() -> tuple[float, int]:
        return _cpu_s(process.pid), int(consumer.get_watermark_offsets(partition, timeout=30)[1])

    try:
        with _writing(session) as ended:
            ended.wait(WARM_UP_S)
            cpu_s, events = now()
            ended.wait(SPAN_S)
            cpu_after_s, events_after = now()
    finally:
        process.communicate(b"\n", timeout=60)
        consumer.close()
    assert events_after > events, "The agent delivered nothing."
    return (cpu_after_s - cpu_s) / (events_after - events) * 1e6


@contextmanager
def _writing(session: Session) -> Iterator[threading.Event]:
    """Write rows at the steady rate until the block is left. The event that is given is set when writing ended."""
    insert = session.prepare(f"INSERT INTO orders ({columns()}) VALUES ({', '.join('?' * 12)})")
    ending = threading.Event()

    def write() -> None:
        begun_s = time.monotonic()
        for burst in itertools.count(1):
            for number in range(PER_S // _BURSTS_PER_S):
                session.execute_async(insert, row_of(20_000_000 + burst * PER_S + number, 0))
            if ending.wait(max(0.0, begun_s + burst / _BURSTS_PER_S - time.monotonic())):
                return

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield ending
    finally:
        ending.set()
        writer.join()


def _cpu_s(pid: int) -> float:
    own = psutil.Process(pid)
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(one.user + one.system for one in times)
