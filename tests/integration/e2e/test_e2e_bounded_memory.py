"""Sends a gigabyte of records through a task host that may hold 256 MiB."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import psutil
import pytest
import requests
from confluent_kafka import Producer
from e2e_s3 import file_system, sink_config
from e2e_worker import WorkerProcess, wait_for
from pyarrow.fs import FileSelector
from test_e2e_bad_records import committed

ROWS = 1_000_000
ROW_BYTES = 1024
LIMIT_MIB = 256
ROWS_OF_A_FILE = 20_000
"""20 MiB: a file is held until it is complete, and while it is written to S3."""
FORMATS = ("io.confluent.connect.s3.format.parquet.ParquetFormat", "io.confluent.connect.s3.format.json.JsonFormat")
PLAIN_JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def gigabyte(kafka):
    """A topic of one partition."""
    topic = f"gigabyte-{secrets.token_hex(3)}"
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 20})
    filling = secrets.token_hex((ROW_BYTES - 40) // 2)  # nothing that a codec could make small
    for number in range(ROWS):
        producer.produce(topic, b'{"id":%d,"name":"row","filling":"%s"}' % (number, filling.encode()), partition=0)
        if number % 5_000 == 0:
            producer.flush(60)
    assert producer.flush(60) == 0
    return topic


@pytest.fixture
def small_worker(kafka, tmp_path):
    worker = WorkerProcess(
        tmp_path, kafka.bootstrap_servers, f"small-{secrets.token_hex(3)}", cold_hosts=True,
        **{"task.host.memory.limit": str(LIMIT_MIB)},
    )  # fmt: skip
    worker.start()
    yield worker
    worker.stop()


@pytest.mark.parametrize("file_format", FORMATS, ids=["parquet", "json"])
def test_a_gigabyte_becomes_files_in_a_host_of_256_mib(
    small_worker, kafka, s3, s3_bucket, unique, gigabyte, file_format
):
    name = f"{unique}-sink"
    config = sink_config(s3, s3_bucket, unique, gigabyte, **PLAIN_JSON)
    config |= {"flush.size": str(ROWS_OF_A_FILE), "format.class": file_format}
    assert small_worker.create(name, config).status_code == 201
    peaks: dict[int, float] = {}

    def moved() -> bool:
        for host in hosts(small_worker.pid):
            peaks[host] = max(peaks.get(host, 0.0), peak_mib(host))
        return bool(peaks) and committed(kafka, name, gigabyte) == ROWS

    began = time.monotonic()
    wait_for(moved, 240, f"{ROWS} records in S3, peaks so far {peaks}")
    peak = [round(peak) for peak in peaks.values()]
    print(f"peaks of the task hosts {peak} MiB, {ROWS / (time.monotonic() - began):,.0f} rows/s")  # noqa: T201 - a figure
    history = requests.get(f"{small_worker.url}/connectors/{name}/history", timeout=60).text
    assert "task.host.memory.limit" not in history
    assert max(peaks.values()) < LIMIT_MIB
    files = file_system(s3).get_file_info(FileSelector(f"{s3_bucket}/{unique}/{gigabyte}", recursive=True))
    assert sum(info.size or 0 for info in files) > 0
    small_worker.call("DELETE", name)


def hosts(worker_pid: int) -> list[int]:
    """The processes of a worker that run tasks: those that its fork server made."""
    return [host.pid for server in psutil.Process(worker_pid).children() for host in server.children()]


def peak_mib(pid: int) -> float:
    """The most that a process ever held resident; 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
