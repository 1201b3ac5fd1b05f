"""Checks that nobody who may POST a connector can write into the internal topics of clusters, on real Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from kafka_records import records

from connect.tools.services import KafkaEndpoint

STRING = "org.apache.kafka.connect.storage.StringConverter"
SMT = "org.apache.kafka.connect.transforms."
PLANTED = b'{"properties":{"connector.class":"FileStreamSource","name":"planted","file":"/etc/passwd","topic":"t"}}'
OWN = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")


class Cluster:
    """A worker, a folder that its file connectors may use, and what is in topics."""

    def __init__(self, kafka: KafkaEndpoint, folder: Path) -> None:
        self.kafka = kafka
        self.folder = folder
        settings = {"file.stream.paths": str(folder), "internal.topics.writable": "copied-configs"}
        self.worker = WorkerProcess(folder / "worker", kafka.bootstrap_servers, "reserved", **settings)
        (folder / "planted.txt").write_bytes(PLANTED + b"\n")

    def source(self, topic: str, **settings: str) -> dict[str, str]:
        """Each line of the file is a record."""
        return {
            "connector.class": "FileStreamSource", "tasks.max": "1", "file": str(self.folder / "planted.txt"),
            "topic": topic, "key.converter": STRING, "value.converter": STRING, **settings,
        }  # fmt: skip

    def compacted(self, name: str, *rows: tuple[bytes, bytes]) -> None:
        admin = AdminClient({"bootstrap.servers": self.kafka.bootstrap_servers})
        topic = NewTopic(name, 2, 1, config={"cleanup.policy": "compact"})
        admin.create_topics([topic])[name].result(30)
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        for key, value in rows:
            producer.produce(name, value, key)
        assert producer.flush(30) == 0

    def values(self, topic: str) -> list[Any]:
        return [value for _, value in records(self.kafka, topic)]

    def failed(self, name: str, config: dict[str, str]) -> str:
        """The trace with which the task ends."""
        made = self.worker.create(name, config)
        assert made.status_code == 201, made.text
        status = self.worker.wait_for_tasks(name, "FAILED")
        return str(status["tasks"][0]["trace"])


@pytest.fixture(scope="module")
def cluster(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(kafka, tmp_path_factory.mktemp("reserved"))
    made.worker.start()
    yield made
    made.worker.stop()


def keyed(name: str) -> dict[str, str]:
    """Transforms after which each record has the line as its value's only field, and that field as its key."""
    return {
        "transforms": "wrap,key", "transforms.wrap.type": f"{SMT}HoistField$Value", "transforms.wrap.field": name,
        "transforms.key.type": f"{SMT}ValueToKey", "transforms.key.fields": name,
    }  # fmt: skip


@pytest.mark.parametrize("key", OWN)
def test_a_connector_whose_topic_is_the_clusters_own_fails_and_writes_nothing(cluster: Cluster, key: str):
    topic = cluster.worker.properties[key]
    trace = cluster.failed(f"direct-{key}", cluster.source(topic))
    assert f"Topic {topic} holds this cluster's own state" in trace
    assert PLANTED not in cluster.values(topic)


def test_a_transform_that_sends_rows_to_the_config_topic_plants_no_connector(cluster: Cluster):
    topic = cluster.worker.properties["config.storage.topic"]
    # A key that begins so makes a connector of a record.
    routed = cluster.source("harmless", **keyed("connector-planted")) | {
        "transforms": "wrap,key,route", "transforms.route.type": f"{SMT}RegexRouter",
        "transforms.route.regex": "harmless", "transforms.route.replacement": topic,
    }  # fmt: skip
    before = len(cluster.values(topic))
    assert f"Topic {topic} holds this cluster's own state" in cluster.failed("routed", routed)
    assert before < len(cluster.values(topic)), "the worker's own records"
    assert not any(b"Struct{" in (value or b"") for value in cluster.values(topic))


def test_with_tolerance_such_rows_are_dead_letters_and_the_task_goes_on(cluster: Cluster):
    topic, letters = cluster.worker.properties["config.storage.topic"], "reserved-letters"
    tolerant = cluster.source(topic) | {
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1", "errors.deadletterqueue.context.headers.enable": "true",
    }  # fmt: skip
    assert cluster.worker.create("tolerant", tolerant).status_code == 201
    (letter,) = wait_for(lambda: cluster.values(letters), 60, "the letter")
    assert json.loads(letter)["payload"] == PLANTED.decode()
    cluster.worker.wait_for_tasks("tolerant", "RUNNING")
    assert PLANTED not in cluster.values(topic)


def test_a_topic_of_another_cluster_is_told_by_its_records_unless_the_worker_names_it(cluster: Cluster):
    session = (b"session-key", b'{"key":"a2V5","algorithm":"HmacSHA256","creation-timestamp":1}')
    cluster.compacted("their-configs", session)
    cluster.compacted("copied-configs", session)
    cluster.compacted("products", (b"connector-7", b'{"name":"plug"}'))
    trace = cluster.failed("theirs", cluster.source("their-configs"))
    assert "Topic their-configs holds connector configurations" in trace
    assert "internal.topics.writable=their-configs" in trace
    assert cluster.values("their-configs") == [session[1]]
    for topic in ("copied-configs", "products"):
        assert cluster.worker.create(topic, cluster.source(topic, **keyed("line"))).status_code == 201
        wait_for(lambda topic=topic: any(b"planted" in value for value in cluster.values(topic)), 60, "the row")


@pytest.mark.parametrize("key", ["config.storage.topic", "status.storage.topic"])
def test_no_connector_keeps_its_offsets_or_its_dead_letters_in_a_topic_of_the_cluster(cluster: Cluster, key: str):
    topic = cluster.worker.properties[key]
    own = cluster.source("harmless") | {"offsets.storage.topic": topic}
    sink = {
        "connector.class": "FileStreamSink", "topics": "products", "file": str(cluster.folder / "sink.txt"),
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }  # fmt: skip
    for name, config in (("offsets", own), ("letters", sink)):
        refused = cluster.worker.create(f"{name}-{key}", config)
        assert (refused.status_code, f"Topic {topic} holds this cluster's own state" in refused.text) == (400, True)


def test_no_connector_of_another_cluster_writes_into_an_audit_topic(cluster: Cluster, tmp_path: Path):
    settings = {"rest.audit.topic": "their-audit"}
    other = WorkerProcess(tmp_path / "other", cluster.kafka.bootstrap_servers, "reserved-other", **settings)
    other.start()
    try:
        trace = cluster.failed("forger", cluster.source("their-audit"))
        assert "Topic their-audit holds the state of another cluster of workers" in trace
        assert PLANTED not in cluster.values("their-audit")
    finally:
        other.stop()
