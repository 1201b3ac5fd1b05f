"""Runs exactly-once sources on real workers: zombies are shut out, transactions end where they should."""

import json
import signal

import pytest
from cluster_worker import eventually
from kafka_records import records, values

from connect.kafka.client.errors import FencedError
from connect.kafka.client.settings import producer_settings
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

REQUIRED = {"exactly.once.support": "required", "pause.ms": "5"}


def in_s(seconds):
    return Deadline.after(seconds)


def config_records(kafka, unique, name):
    """Commits and fencing records of a connector, in order."""
    wanted = {f"commit-{name}".encode(): "tasks", f"tasks-fencing-{name}".encode(): "task-count"}
    found = records(kafka, f"{unique}-configs")
    return [(wanted[key], json.loads(value)[wanted[key]]) for key, value in found if key in wanted]


def stopped(worker, name):
    assert worker.call("PUT", f"/connectors/{name}/stop").status_code == 204
    eventually(lambda: worker.states(name) == ("STOPPED", []))


@pytest.fixture
def rival(kafka):
    """A producer that has taken over a transactional id."""
    producers = []

    def make(transactional_id):
        worker = {"bootstrap.servers": kafka.bootstrap_servers}
        settings = producer_settings(worker, {}, client_id="rival", transactional_id=transactional_id)
        producers.append(BatchProducer(settings.properties))
        producers[-1].init_transactions(in_s(60))
        return producers[-1]

    yield make
    for producer in producers:
        producer.close()


@pytest.fixture
def zombie(rival, unique):
    """A producer of a task that nobody stopped, with an open transaction."""
    import pyarrow as pa

    def make(task, topic):
        producer = rival(f"{unique}-group-{task}")
        producer.begin()
        producer.send(RawBatch(topic, pa.array([b"-1"], pa.binary())), in_s(60))
        producer.flush(in_s(60))
        return producer

    return make


def test_tasks_of_the_last_configuration_are_shut_out_before_new_ones_start(worker, kafka, unique, zombie):
    topic = f"{unique}-numbers"
    worker.create("c", topic=topic, **{**REQUIRED, "tasks.max": "2"})
    eventually(worker.runs("c"))
    assert config_records(kafka, unique, "c") == [("tasks", 2), ("task-count", 2)]
    stopped(worker, "c")
    left_over = zombie("c-1", topic)

    config = {**worker.get("/connectors/c/config"), "tasks.max": "1"}
    assert worker.call("PUT", "/connectors/c/config", config).status_code == 200
    assert worker.call("PUT", "/connectors/c/resume").status_code == 202
    eventually(worker.runs("c", 1))

    with pytest.raises(FencedError):
        left_over.commit(in_s(60))
    assert config_records(kafka, unique, "c")[-2:] == [("tasks", 1), ("task-count", 1)]
    assert -1 not in values(kafka, topic)


def test_running_tasks_are_reconfigured_without_a_failure_and_without_a_gap(worker, kafka, unique):
    topic = f"{unique}-numbers"
    worker.create("c", topic=topic, **{**REQUIRED, "tasks.max": "2"})
    eventually(worker.runs("c"))
    eventually(lambda: len(values(kafka, topic)) > 50)
    config = {**worker.get("/connectors/c/config"), "tasks.max": "3"}
    assert worker.call("PUT", "/connectors/c/config", config).status_code == 200
    eventually(lambda: config_records(kafka, unique, "c")[-1] == ("task-count", 3))
    eventually(worker.runs("c", 3))
    so_far = len(values(kafka, topic))
    eventually(lambda: len(values(kafka, topic)) > so_far + 50)
    stopped(worker, "c")
    numbers = sorted(values(kafka, topic))
    counted = [numbers.count(n) for n in range(numbers[-1] + 1)]
    # Three counters, each without a gap or a repetition.
    assert counted == sorted(counted, reverse=True)
    assert counted[0] == 3
    assert "state=FAILED" not in worker.log.read_text()
    states = [change["state"] for change in worker.get("/connectors/c/history")["states"]]
    assert "FAILED" not in states


def test_altering_offsets_shuts_out_zombies_first(worker, kafka, unique, zombie):
    topic = f"{unique}-numbers"
    worker.create("c", topic=topic, **{**REQUIRED, "tasks.max": "1"})
    eventually(worker.runs("c", 1))
    eventually(lambda: len(values(kafka, topic)) > 5)
    stopped(worker, "c")
    left_over = zombie("c-0", topic)

    body = {"offsets": [{"partition": {"share": "0"}, "offset": {"next": 1_000_000}}]}
    assert worker.call("PATCH", "/connectors/c/offsets", body).status_code == 200
    with pytest.raises(FencedError):
        left_over.commit(in_s(60))
    assert worker.get("/connectors/c/offsets") == body
    assert config_records(kafka, unique, "c")[-2:] == [("tasks", 0), ("task-count", 0)]
    assert worker.call("PUT", "/connectors/c/resume").status_code == 202
    eventually(lambda: values(kafka, topic)[-1] >= 1_000_000)
    stopped(worker, "c")
    assert worker.call("DELETE", "/connectors/c/offsets").status_code == 200
    assert worker.get("/connectors/c/offsets") == {"offsets": []}


def test_killed_hosts_cost_no_row_and_repeat_none(start_worker, kafka, unique):
    """On a worker that has it enabled every source writes in transactions, as in Java."""
    enabled = {"exactly.once.source.support": "enabled", "auto.restart.backoff.initial.ms": "100"}
    worker = start_worker(**{**enabled, "offset.flush.interval.ms": "60000"}).ready()
    topic = f"{unique}-numbers"
    interval = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "200"}
    worker.create("c", topic=topic, **{"tasks.max": "1", "pause.ms": "5", **interval})
    for _ in range(2):
        so_far = len(values(kafka, topic))
        eventually(lambda so_far=so_far: len(values(kafka, topic)) > so_far + 40)
        worker.hosts()[-1].send_signal(signal.SIGKILL)
    so_far = len(values(kafka, topic))
    eventually(lambda: len(values(kafka, topic)) > so_far + 40)
    stopped(worker, "c")
    numbers = values(kafka, topic)
    assert numbers == list(range(len(numbers)))
    assert config_records(kafka, unique, "c") == [("tasks", 1), ("task-count", 1), ("tasks", 0)]


def test_a_connector_ends_its_transactions_itself(start_worker, kafka, unique):
    worker = start_worker(**{"auto.restart.backoff.initial.ms": "100"}).ready()
    topic = f"{unique}-numbers"
    own = {"transaction.boundary": "connector", "transaction.size": "10"}
    worker.create("c", topic=topic, **{**REQUIRED, "tasks.max": "1", **own})
    eventually(lambda: len(values(kafka, topic)) > 60)
    worker.hosts()[-1].send_signal(signal.SIGKILL)
    so_far = len(values(kafka, topic))
    eventually(lambda: len(values(kafka, topic)) > so_far + 60)
    stopped(worker, "c")
    numbers = values(kafka, topic)
    last = numbers[-1] // 10
    # Whole transactions only; every third one was thrown away, and its rows did not come again.
    assert numbers == [n for t in range(last + 1) if t % 3 != 2 for n in range(t * 10, t * 10 + 10)]
    (offset,) = worker.get("/connectors/c/offsets")["offsets"]
    assert offset["offset"]["next"] in {(last + 1) * 10, (last + 2) * 10}
    # The transaction that was open was aborted: nothing is left to wait for.
    assert set(values(kafka, topic, "read_uncommitted")) > set(numbers)


def test_a_leader_that_another_one_shut_out_has_to_see_that_it_leads_first(start_worker, unique, rival):
    worker = start_worker(**{"exactly.once.source.support": "preparing"}).ready()
    worker.create("c", **{"tasks.max": "1"})
    eventually(worker.runs("c", 1))
    rival(f"connect-cluster-{unique}-group")

    changed = {**worker.get("/connectors/c/config"), "pause.ms": "7"}
    refused = worker.call("PUT", "/connectors/c/config", changed)
    assert refused.status_code == 500
    assert refused.json()["message"].startswith("Failed to write to config topic; this may be due to a transient error")
    assert "pause.ms" not in worker.get("/connectors/c/config")
    eventually(lambda: worker.call("PUT", "/connectors/c/config", changed).status_code == 200)
    assert worker.get("/connectors/c/config")["pause.ms"] == "7"
    eventually(worker.runs("c", 1))
