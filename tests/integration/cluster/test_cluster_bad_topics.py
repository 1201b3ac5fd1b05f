"""Checks what comes of internal topics that are wrong, shared by mistake, or hold garbage, on real Kafka."""

import re

import pytest
from cluster_worker import eventually
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

CONFIG, OFFSET, STATUS = "config.storage.topic", "offset.storage.topic", "status.storage.topic"


@pytest.fixture
def make_topic(kafka):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})

    def make(name, partitions=1, policy="compact"):
        topic = NewTopic(name, partitions, 1, config={"cleanup.policy": policy})
        admin.create_topics([topic])[name].result(30)

    return make


def refused(worker):
    """What a worker that does not start says in the end."""
    assert worker.process.wait(60) == 1
    return worker.log.read_text()


@pytest.mark.parametrize(
    ("key", "partitions", "policy", "settings", "texts"),
    [
        (CONFIG, 1, "delete", {}, ["'cleanup.policy=compact'", "'cleanup.policy=delete'", "connector configurations"]),
        (OFFSET, 3, "compact,delete", {}, ["'cleanup.policy=compact'", "source connector offsets"]),
        (STATUS, 3, "delete", {}, ["'cleanup.policy=compact'", "statuses"]),
        (CONFIG, 2, "compact", {}, ["single partition", "found 2 partitions"]),
        (
            STATUS, 1, "compact", {"status.storage.replication.factor": "3"},
            ["has a replication factor of 1", "status.storage.replication.factor=3", "replication.factor=1."],
        ),
        (
            "", 0, "", {"offset.storage.replication.factor": "3"},
            ["could not be created with a replication factor of 3", "at most the number of brokers"],
        ),
        ("group.id", 7, "compact", {"slots": "60"}, ["has 7 partitions, but slots=60", "Set slots=7"]),
    ],
)  # fmt: skip
def test_a_worker_refuses_topics_that_would_lose_its_state(
    worker_keys, start_worker, make_topic, key, partitions, policy, settings, texts
):
    if key:
        name = worker_keys[key] if key != "group.id" else f"{worker_keys[key]}-slots"
        make_topic(name, partitions, policy)
        texts = [*texts, f"'{name}'"]
    said = refused(start_worker(**settings))
    assert [text for text in texts if text not in said] == []


def test_missing_topics_are_refused_where_none_may_be_made(worker_keys, start_worker, make_topic):
    off = {"internal.topics.automatic.creation.enable": "false"}
    said = refused(start_worker(**off))
    assert f"Topic '{worker_keys[CONFIG]}' for connector configurations, named by '{CONFIG}', does not exist" in said
    for key, partitions in ((CONFIG, 1), (OFFSET, 2), (STATUS, 1)):
        make_topic(worker_keys[key], partitions)
    make_topic(f"{worker_keys['group.id']}-slots", int(worker_keys["slots"]))
    assert start_worker(**off).ready().get("/connectors") == []


def test_what_nobody_asked_for_is_no_reason_to_refuse(worker_keys, start_worker, make_topic):
    make_topic(worker_keys[OFFSET], 3)
    make_topic(worker_keys[STATUS], 1)
    # Somebody has added slots, and the workers' files do not say so yet.
    make_topic(f"{worker_keys['group.id']}-slots", int(worker_keys["slots"]) + 2)
    del worker_keys["status.storage.replication.factor"]
    assert start_worker().ready().call("GET", "/health").status_code == 200


def test_a_cluster_in_anothers_group_or_topics_is_refused_until_that_has_ended(start_worker, worker_keys, unique):
    first = start_worker().ready()
    other = {CONFIG: f"{unique}-2-configs", OFFSET: f"{unique}-2-offsets", STATUS: f"{unique}-2-status"}
    said = refused(start_worker(**other))
    assert f"group.id={worker_keys['group.id']} is in use by workers with {CONFIG}={worker_keys[CONFIG]}" in said
    assert f"but this worker has {CONFIG}={other[CONFIG]}" in said
    for key in (CONFIG, OFFSET, STATUS):
        mixed = {**other, "group.id": f"{unique}-2", key: worker_keys[key]}
        said = refused(start_worker(**mixed))
        assert f"Topic {worker_keys[key]}, the {key} of this worker with group.id={unique}-2" in said
        assert f"is the {key} of the cluster with group.id={worker_keys['group.id']}" in said
    second = start_worker().ready()
    assert second.call("GET", "/health").status_code == 200
    assert (second.stop(), first.stop()) == (0, 0)
    moved = start_worker(**{**other, CONFIG: worker_keys[CONFIG], "group.id": f"{unique}-2"}).ready()
    assert moved.get("/connectors") == []


def test_garbage_in_the_internal_topics_is_named_and_passed_over(start_worker, worker_keys, kafka):
    first = start_worker().ready()
    first.create("c", **{"tasks.max": "1"})
    eventually(first.runs("c", 1))
    assert first.stop() == 0
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    garbage = [(b"\xff\xfe", b"x"), (b"connector-c", b"\xff"), (b"connector-d", b"[]"), (b"task-", b"1"),
               (b"nonsense", b"{}"), (b"status-connector-c", b'{"state":"ODD"}'), (b'["c",{"share":"0"}]', b"nonsense"),
               (b"[1", None), (b"commit-c", b'{"tasks":"many"}'), (b"connector-c", b"[" * 100_000)]  # fmt: skip
    for topic in (CONFIG, OFFSET, STATUS):
        for key, value in garbage:
            if key != b"connector-c" or topic != OFFSET:
                producer.produce(worker_keys[topic], value, key)
    assert producer.flush(30) == 0
    again = start_worker().ready()
    eventually(again.runs("c", 1))
    assert again.get("/connectors") == ["c"]
    assert again.call("GET", "/connectors/c/offsets").status_code == 200
    lines = again.log.read_text().splitlines()
    for kind in ("config", "offset", "status"):
        skipped = [line for line in lines if f"{kind}_record_skipped" in line]
        assert skipped, kind
        places = [re.search(r"offset=(\d+).*partition=(\d+)", line).groups() for line in skipped]
        assert len(places) == len(set(places)), places
    assert not [line for line in lines if "Traceback" in line]
