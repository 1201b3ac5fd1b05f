"""Disturbs a running cluster as people and machines do: each fault is named and healed, and each record is there
once.
"""

from __future__ import annotations

import os
import time

import pytest
from cluster_worker import eventually
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from kafka_records import values

ROWS_MORE = 40
ONCE = {"tasks.max": "1", "topic": "", "exactly.once.support": "required"}
OLD_RECORDS = 100_000
DAY_S = 86_400
CLOCK = """\
import os, time

_wall, _wall_ns = time.time, time.time_ns


def _ahead_s():
    with open(os.environ["CLOCK_AHEAD_S"]) as file:
        return int(file.read() or 0)


time.time = lambda: _wall() + _ahead_s()
time.time_ns = lambda: _wall_ns() + _ahead_s() * 10**9
"""
"""Lets the wall clock of each Python process of a worker be ahead by what a file says, as somebody might set it."""


@pytest.fixture
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def flows(kafka, topic):
    """Wait until records come that were not there."""
    before = len(values(kafka, topic))
    eventually(lambda: len(values(kafka, topic)) >= before + ROWS_MORE)


def each_once(worker, kafka, name, topic):
    """End the connector; all its records are there, each once and in order."""
    assert worker.call("PUT", f"/connectors/{name}/stop").status_code == 204
    eventually(lambda: worker.states(name) == ("STOPPED", []))
    numbers = values(kafka, topic)
    assert numbers == list(range(len(numbers)))
    states = [change["state"] for change in worker.get(f"/connectors/{name}/history")["states"]]
    assert "FAILED" not in states


def test_a_status_topic_that_was_deleted_is_named_and_made_again(start_worker, worker_keys, kafka, admin, unique):
    keys = {"exactly.once.source.support": "enabled"}
    workers = [start_worker(**keys).ready(), start_worker(**keys).ready()]
    workers[0].create("source", **{**ONCE, "topic": unique})
    eventually(workers[0].runs("source", 1))
    flows(kafka, unique)
    status = worker_keys["status.storage.topic"]
    before = workers[0].get("/connectors/source/history")["states"]
    admin.delete_topics([status])[status].result(30)

    flows(kafka, unique)
    eventually(lambda: any("internal_topic_made_again" in worker.log.read_text() for worker in workers))
    eventually(lambda: status in admin.list_topics(timeout=20).topics)
    eventually(workers[1].runs("source", 1))
    later = start_worker(**keys).ready()
    eventually(later.runs("source", 1))
    assert [change for change in before if change not in later.get("/connectors/source/history")["states"]] == []
    each_once(later, kafka, "source", unique)


def test_slots_that_are_raised_while_workers_run_stop_no_task(start_worker, worker_keys, kafka, admin, unique):
    keys = {"exactly.once.source.support": "enabled"}
    workers = [start_worker(**keys).ready(), start_worker(**keys).ready()]
    workers[0].create("source", **{**ONCE, "topic": unique})
    eventually(workers[0].runs("source", 1))
    slots = f"{worker_keys['group.id']}-slots"
    more = int(worker_keys["slots"]) + 3
    admin.create_partitions([NewPartitions(slots, more)])[slots].result(30)
    flows(kafka, unique)
    del worker_keys["slots"]
    third = start_worker(**keys).ready()
    for number in range(3):
        third.create(f"more-{number}", **{"tasks.max": "2"})
        eventually(third.runs(f"more-{number}"))
    assert workers[0].stop() == 0
    eventually(third.runs("source", 1))
    flows(kafka, unique)
    each_once(third, kafka, "source", unique)


def test_a_config_topic_of_100_000_old_records_is_read_before_the_worker_answers(start_worker, worker_keys, kafka):
    first = start_worker().ready()
    first.create("source", **{"tasks.max": "1"})
    eventually(first.runs("source", 1))
    assert first.stop() == 0
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 50})
    topic = worker_keys["config.storage.topic"]
    for number in range(OLD_RECORDS // 4):
        name = f"gone-{number}"
        for key, value in (
            (f"target-state-{name}", b'{"state":"STARTED","state.v2":"STARTED"}'),
            (f"connector-{name}", b'{"properties":{"connector.class":"CounterSource"}}'),
            (f"connector-{name}", None),
            (f"target-state-{name}", None),
        ):
            producer.produce(topic, value, key)
        producer.poll(0)
    assert producer.flush(60) == 0
    again = start_worker().ready()
    assert again.get("/connectors") == ["source"]
    eventually(again.runs("source", 1))
    again.create("new", **{"tasks.max": "1"})
    eventually(again.runs("new", 1))


@pytest.mark.parametrize("ahead_s", [400 * DAY_S, -400 * DAY_S])
def test_a_clock_that_jumps_stops_no_task(start_worker, kafka, unique, tmp_path, monkeypatch, ahead_s):
    """One of two workers is told another time, by which keys, claims and leases would be too old or of the future."""
    clock = tmp_path / "ahead"
    clock.write_text("0")
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(CLOCK)
    keys = {"exactly.once.source.support": "enabled"}
    other = start_worker(**keys).ready()
    monkeypatch.setenv("CLOCK_AHEAD_S", str(clock))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "clock"), os.environ.get("PYTHONPATH", "")]))
    jumping = start_worker(cold=True, **keys).ready()
    for name in ("one", "two"):
        jumping.create(name, **{**ONCE, "topic": f"{unique}-{name}"})
        eventually(jumping.runs(name, 1))
    clock.write_text(str(ahead_s))
    for name in ("one", "two"):
        flows(kafka, f"{unique}-{name}")
    jumping.create("three", **{"tasks.max": "1"})
    (version,) = jumping.get("/connectors/three/history")["configs"]
    assert abs(version["changed_ms"] / 1000 - time.time() - ahead_s) < DAY_S, "the clock of the worker did not jump"
    eventually(other.runs("three", 1))
    assert other.call("POST", "/connectors/three/restart?includeTasks=true").ok
    assert other.stop() == 0
    for name in ("one", "two"):
        flows(kafka, f"{unique}-{name}")
    again = start_worker(**keys).ready()
    for name in ("one", "two"):
        eventually(again.runs(name, 1))
        each_once(again, kafka, name, f"{unique}-{name}")
