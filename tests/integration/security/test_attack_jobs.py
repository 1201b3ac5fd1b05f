"""Checks a job that somebody planted: whatever its record says, REST says what is missing, and runs nothing by it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import requests
from attacked import Target
from confluent_kafka import Producer

from connect.runtime.settings.internal_topics import JOBS_TOPIC

MARK = "Kx7-planted-9Qz"


@pytest.fixture
def planted(target: Target, unique: str) -> Iterator[str]:
    """A job of the worker's cluster that nobody began: it has no marker topic, and a master with more behind it."""
    name = f"planted-{unique}"
    spec = {"apiVersion": "backfill/v1", "name": name, "kind": "source", "source": {"connector": "none"},
            "engine": {"master": f"local[1,4] --conf spark.jars={MARK}"}}  # fmt: skip
    job = {
        "spec": spec, "state": "PAUSED", "run": "r", "chunks": 40, "rows": 1, "size_bytes": 1, "following": [],
        "statements": [], "warnings": [], "created_ms": 1, "updated_ms": 1, "worker": "", "group": target.name,
    }  # fmt: skip
    producer = Producer({"bootstrap.servers": target.bootstrap_servers})
    key = json.dumps({"job": name})
    producer.produce(JOBS_TOPIC, json.dumps(job), key, 0)
    assert producer.flush(60) == 0
    yield name
    producer.produce(JOBS_TOPIC, None, key, 0)  # the topic is one for all tests of this Kafka
    assert producer.flush(60) == 0


def test_a_job_without_its_marker_topic_is_told_in_time(target: Target, planted: str) -> None:
    with target.answering():
        answer = requests.get(f"{target.url}/backfills/{planted}", timeout=60)
    assert answer.status_code == 409, answer.text
    assert f"its marker topic connect-backfill-{planted} is not there" in answer.json()["message"]


def test_a_job_runs_by_no_master_with_more_behind_it(target: Target, planted: str) -> None:
    answer = requests.put(f"{target.url}/backfills/{planted}/resume", timeout=60)
    assert answer.status_code == 400, answer.text
    assert "engine.master" in answer.json()["message"]
