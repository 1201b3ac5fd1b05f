"""A source whose producer cannot go on makes a new one and goes on by itself from its stored offsets.

The broker is frozen for as long as it takes, so that a machine that is busy elsewhere may let a new run look for the
topic before the broker goes on, and fail.
"""

import json
import signal

import psutil
import pytest
from cluster_worker import eventually
from confluent_kafka import KafkaError, KafkaException
from kafka_records import values

from connect.tools.services import KafkaService

ROWS = 30
WAITS = {"producer.override.delivery.timeout.ms": "1500", "producer.override.linger.ms": "0"}
ANEW = "begins anew from its stored offsets"


@pytest.fixture
def own_kafka():
    """A broker that nobody else has, as it is frozen."""
    with KafkaService() as kafka:
        yield kafka


def numbers(kafka, topic):
    """Return the values of a topic; none as long as brokers do not tell its partitions, as it was made just now."""
    try:
        return values(kafka, topic)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
            raise
        return []


def notes(worker, name):
    return worker.get("/connectors?expand=status&notes=true")[name]["status"].get("notes", ())


@pytest.mark.chaos
def test_rows_that_a_frozen_broker_did_not_take_in_time_are_sent_by_a_new_producer(start_worker, own_kafka):
    kafka = own_kafka
    # The worker itself keeps its place in the group, and with it its tasks, for as long as the broker is frozen.
    patient = {"session.timeout.ms": "120000", "rebalance.timeout.ms": "120000"}
    worker = start_worker(**{"bootstrap.servers": kafka.endpoint.bootstrap_servers, **patient}).ready()
    names = {"once": {"exactly.once.support": "required"}, "often": {}}
    for name, more in names.items():
        worker.create(name, **{"tasks.max": "1", "topic": name, **WAITS, **more})
    for name in names:
        eventually(worker.runs(name, 1))
        eventually(lambda name=name: len(numbers(kafka.endpoint, name)) >= ROWS)

    broker = psutil.Process(kafka.pid)
    broker.send_signal(signal.SIGSTOP)
    eventually(lambda: worker.log.read_text().count(ANEW) >= len(names))
    broker.send_signal(signal.SIGCONT)

    for name in names:
        before = len(set(numbers(kafka.endpoint, name)))
        eventually(lambda name=name, before=before: len(set(numbers(kafka.endpoint, name))) >= before + ROWS)
        eventually(worker.runs(name, 1))
        states = [one for one in worker.get(f"/connectors/{name}/history")["states"] if one.get("task") == 0]
        # RESTARTING is not in it where RUNNING overtakes it before the broker takes statuses again.
        assert {one["state"] for one in states} <= {"RUNNING", "RESTARTING"}, json.dumps(states)
        eventually(lambda name=name: any(ANEW.replace("begins", "began") in note for note in notes(worker, name)))
    once, often = numbers(kafka.endpoint, "once"), numbers(kafka.endpoint, "often")
    assert once == list(range(len(once)))
    assert set(often) == set(range(max(often) + 1))
    assert worker.stop() == 0
