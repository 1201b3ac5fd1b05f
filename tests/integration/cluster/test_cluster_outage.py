"""Checks that a worker goes on when its brokers go away and come back."""

import itertools
import json

import pytest
from cluster_worker import eventually
from kafka_records import values

from connect.lib.deadline import Deadline
from connect.tools.services import KafkaService
from connect.tools.services.process.ports import free_ports

LONGER_THAN_A_SESSION_S = 9
ROWS_MORE = 40


def next_numbers(worker):
    answer = worker.call("GET", "/connectors/c/offsets", timeout_s=90)
    return {o["partition"]["share"]: o["offset"]["next"] for o in answer.json()["offsets"]} if answer.ok else {}


def rows(file):
    return file.read_text().split() if file.exists() else []


def states(worker, name):
    """The states that the connector's only task was in, in their order."""
    changes = worker.get(f"/connectors/{name}/history")["states"]
    return [change["state"] for change in changes if change.get("task") == 0]


def test_an_outage_longer_than_the_session_fails_no_task_and_loses_and_repeats_no_row(start_worker, tmp_path):
    with KafkaService() as kafka:
        worker = start_worker(**{"bootstrap.servers": kafka.endpoint.bootstrap_servers}).ready()
        once = {"tasks.max": "1", "topic": "numbers", "exactly.once.support": "required"}
        worker.create("once", **once)
        worker.create("often", **{"tasks.max": "1", "topic": "other"})
        file = tmp_path / "numbers.txt"
        sink = {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": "numbers", "file": str(file)}
        worker.create("sink", **sink)
        names = ("once", "often", "sink")
        for name in names:
            eventually(worker.runs(name, 1))
        eventually(lambda: len(rows(file)) >= ROWS_MORE)

        kafka.kill()
        outage = Deadline.after(LONGER_THAN_A_SESSION_S)
        while outage.wait(1):
            assert len(worker.get("/connectors")) == len(names)
        kafka.start()
        before = len(rows(file))
        eventually(lambda: len(rows(file)) >= before + ROWS_MORE, 90)
        for name in names:
            eventually(worker.runs(name, 1), 90)

        numbers = values(kafka.endpoint, "numbers")
        assert numbers == list(range(len(numbers)))
        eventually(lambda: {int(row) for row in rows(file)} >= set(numbers))
        for name in names:
            assert "FAILED" not in states(worker, name), json.dumps(worker.get(f"/connectors/{name}/history"))
            starts = [state for state, _ in itertools.groupby(states(worker, name)) if state == "RUNNING"]
            assert len(starts) <= 2, states(worker, name)
        assert worker.stop() == 0


@pytest.mark.chaos
def test_work_goes_on_after_an_outage_longer_than_the_session(start_worker):
    with KafkaService() as kafka:
        worker = start_worker(**{"bootstrap.servers": kafka.endpoint.bootstrap_servers}).ready()
        worker.create("c")
        eventually(worker.runs("c"))
        before = eventually(lambda: next_numbers(worker) if len(next_numbers(worker)) == 2 else {})

        kafka.kill()
        outage = Deadline.after(LONGER_THAN_A_SESSION_S)
        while outage.wait(1):
            assert worker.get("/connectors") == ["c"]
        kafka.start()

        eventually(worker.runs("c"), 90)
        eventually(lambda: all(next_numbers(worker).get(share, 0) > next_ for share, next_ in before.items()), 90)
        assert worker.stop() == 0


def test_a_worker_started_before_its_brokers_is_ready_once_they_are(start_worker):
    broker, controller = free_ports(2)
    worker = start_worker(**{"bootstrap.servers": f"127.0.0.1:{broker}"})
    eventually(lambda: "waiting_for_kafka" in worker.log.read_text())
    with KafkaService(ports={"broker": broker, "controller": controller}):
        assert worker.ready().get("/connectors") == []
        assert worker.stop() == 0
