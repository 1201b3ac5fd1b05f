"""Takes Kafka or S3 away in mid-work: afterwards both ends are equal, and no task stays FAILED."""

from __future__ import annotations

import threading
import time

import pytest
from e2e_orders import Writer, source_config
from e2e_s3 import objects_of, rows_of, sink_config
from e2e_worker import WorkerProcess, wait_for
from shared_services import S3_BUCKET

from connect.tools.services import KafkaService, SeaweedS3Service

LENGTHS = pytest.mark.parametrize("outage_s", [5.0, pytest.param(30.0, marks=pytest.mark.chaos)])


@pytest.fixture
def own_kafka():
    with KafkaService() as service:
        yield service


@pytest.fixture
def own_s3():
    with SeaweedS3Service() as service:
        yield service


@LENGTHS
def test_both_ends_are_equal_after_kafka_was_away(own_kafka, s3, tmp_path, unique, outage_s):
    _check_an_outage(own_kafka, own_kafka.endpoint, s3, tmp_path, unique, outage_s)


@LENGTHS
def test_both_ends_are_equal_after_s3_was_away(own_s3, kafka, tmp_path, unique, outage_s):
    own_s3.create_bucket(S3_BUCKET)
    _check_an_outage(own_s3, kafka, own_s3.endpoint, tmp_path, unique, outage_s)


def _check_an_outage(victim, kafka, s3, tmp_path, unique, outage_s):
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    with Writer(tmp_path / "orders.db") as writer:
        try:
            worker.start()
            source = source_config(tmp_path / "orders.db", f"{unique}-")
            topic = f"{unique}-orders"
            source_name, sink_name = f"{unique}-source", f"{unique}-sink"
            assert worker.create(source_name, source).status_code == 201
            assert worker.create(sink_name, sink_config(s3, S3_BUCKET, unique, topic)).status_code == 201
            place = (s3, S3_BUCKET, f"{unique}/{topic}")
            wait_for(lambda: len(objects_of(*place)) > 1, 120, "objects in S3 before the outage")

            victim.stop()
            rows_before = writer.rows
            _outage(outage_s)
            assert writer.rows > rows_before, "The writer stood still."
            victim.start()

            before = objects_of(*place)
            wait_for(lambda: objects_of(*place) - before, 120, "objects in S3 after the outage")
            total = writer.stop()
            wait_for(lambda: len(rows_of(*place)) >= total, 120, f"{total} rows in S3", pause_s=1)
            ids = sorted(row["id"] for row in rows_of(*place))
            assert ids == list(range(1, total + 1)), f"{len(ids)} rows, {len(set(ids))} distinct, of {total}"
            for name in (source_name, sink_name):
                worker.wait_for_tasks(name, "RUNNING")
        finally:
            worker.stop()


def _outage(length_s: float) -> None:
    """The outage's length is what is tested."""
    end_s = time.monotonic() + length_s
    pause = threading.Event()
    while time.monotonic() < end_s:
        pause.wait(end_s - time.monotonic())
