"""Measures how much memory a worker and its hosts use for a backlog of half a million rows, and give back."""

from __future__ import annotations

import secrets

import psutil
import pytest
from confluent_kafka import Producer
from e2e_s3 import sink_config
from e2e_worker import WorkerProcess, wait_for
from test_e2e_bad_records import committed
from test_e2e_bounded_memory import FORMATS, PLAIN_JSON

from connect.lib.deadline import Deadline

ROWS, ROW_BYTES, ROWS_OF_A_FILE = 2_000_000, 940, 500_000
LIMIT_MIB, KEPT_MIB = 500, 100
"""The most while it works, and what may stay above the start a minute after the connector was deleted."""

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def backlog(kafka):
    topic = f"backlog-{secrets.token_hex(3)}"
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 20, "compression.type": "lz4"})
    filling = secrets.token_hex((ROW_BYTES - 30) // 2)
    for number in range(ROWS):
        producer.produce(topic, b'{"id":%d,"filling":"%s"}' % (number, filling.encode()), partition=0)
        if number % 5_000 == 0:
            producer.flush(60)
    assert producer.flush(60) == 0
    return topic


@pytest.fixture
def worker(kafka, tmp_path):
    running = WorkerProcess(tmp_path, kafka.bootstrap_servers, f"backlog-{secrets.token_hex(3)}", cold_hosts=True)
    running.start()
    yield running
    running.stop()


@pytest.mark.parametrize("file_format", FORMATS, ids=["parquet", "json"])
def test_a_backlog_takes_bounded_memory_and_gives_it_back(worker, kafka, s3, s3_bucket, unique, backlog, file_format):
    name = f"{unique}-sink"
    config = sink_config(s3, s3_bucket, unique, backlog, **PLAIN_JSON) | {
        "flush.size": str(ROWS_OF_A_FILE), "format.class": file_format, "rotate.schedule.interval.ms": "600000",
    }  # fmt: skip
    start = private_mib(worker.pid)
    assert worker.create(name, config).status_code == 201
    peak = start

    def moved() -> bool:
        nonlocal peak
        peak = max(peak, private_mib(worker.pid))
        return committed(kafka, name, backlog) >= ROWS - ROWS_OF_A_FILE

    wait_for(moved, 240, "a backlog in S3")
    worker.call("DELETE", name)
    kept = peak
    deadline = Deadline.after(60)
    while kept >= start + KEPT_MIB and not deadline.expired:
        kept = private_mib(worker.pid)
        deadline.wait(1)
    print(f"worker and hosts: {start:.0f} MiB, at most {peak:.0f}, then {kept:.0f}")  # noqa: T201 - a figure
    assert peak < LIMIT_MIB
    assert kept < start + KEPT_MIB


def private_mib(worker_pid: int) -> float:
    """What a worker and all processes below it have to themselves."""
    total = 0
    for process in [psutil.Process(worker_pid), *psutil.Process(worker_pid).children(recursive=True)]:
        try:
            total += process.memory_full_info().uss
        except psutil.NoSuchProcess:
            continue  # a host that has ended holds nothing
    return total / 2**20
