"""A worker whose brokers go away and come back."""

import pytest
from cluster_worker import eventually

from connect.api.deadline import Deadline
from connect.services import KafkaService
from connect.services.ports import free_ports

LONGER_THAN_A_SESSION_S = 9


def next_numbers(worker):
    answer = worker.call("GET", "/connectors/c/offsets", timeout_s=90)
    return {o["partition"]["share"]: o["offset"]["next"] for o in answer.json()["offsets"]} if answer.ok else {}


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
