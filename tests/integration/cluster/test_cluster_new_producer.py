"""A source whose producer cannot go on makes a new one and goes on by itself from its stored offsets."""

import json
import signal

import psutil
import pytest
from cluster_worker import eventually
from kafka_records import values

from connect.lib.deadline import Deadline
from connect.tools.services import KafkaService

ROWS = 30
WAITS = {"producer.override.delivery.timeout.ms": "1500", "producer.override.linger.ms": "0"}
FROZEN_S = 3


@pytest.fixture
def own_kafka():
    """A broker that nobody else has, as it is frozen."""
    with KafkaService() as kafka:
        yield kafka


def test_rows_that_a_frozen_broker_did_not_take_in_time_are_sent_by_a_new_producer(start_worker, own_kafka):
    kafka = own_kafka
    worker = start_worker(**{"bootstrap.servers": kafka.endpoint.bootstrap_servers}).ready()
    names = {"once": {"exactly.once.support": "required"}, "often": {}}
    for name, more in names.items():
        worker.create(name, **{"tasks.max": "1", "topic": name, **WAITS, **more})
    for name in names:
        eventually(worker.runs(name, 1))
        eventually(lambda name=name: len(values(kafka.endpoint, name)) >= ROWS)

    broker = psutil.Process(kafka.pid)
    broker.send_signal(signal.SIGSTOP)
    frozen = Deadline.after(FROZEN_S)
    while frozen.wait(0.5):
        assert len(worker.get("/connectors")) == len(names)
    broker.send_signal(signal.SIGCONT)

    for name in names:
        before = len(set(values(kafka.endpoint, name)))
        eventually(lambda name=name, before=before: len(set(values(kafka.endpoint, name))) >= before + ROWS)
        eventually(worker.runs(name, 1))
        states = [one for one in worker.get(f"/connectors/{name}/history")["states"] if one.get("task") == 0]
        assert {state["state"] for state in states} == {"RUNNING", "RESTARTING"}, json.dumps(states)
        notes = worker.get("/connectors?expand=status&notes=true")[name]["status"]["notes"]
        assert any("began anew from its stored offsets" in note and "timed out" in note for note in notes), notes
    once, often = values(kafka.endpoint, "once"), values(kafka.endpoint, "often")
    assert once == list(range(len(once)))
    assert set(often) == set(range(max(often) + 1))
    assert worker.stop() == 0
