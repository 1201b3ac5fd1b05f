"""A worker that is older than what the cluster's topics hold says so, ends, and has written nothing."""

import json

from cluster_worker import eventually
from confluent_kafka import Producer
from kafka_records import records


def test_a_worker_that_meets_state_of_a_newer_version_ends_with_a_sentence_and_writes_nothing(
    start_worker, worker_keys, kafka
):
    group = worker_keys["group.id"]
    topics = [f"{group}-slots", *(worker_keys[f"{name}.storage.topic"] for name in ("config", "offset", "status"))]
    first = start_worker().ready()
    first.create("source")
    eventually(first.runs("source"))
    assert first.stop() == 0
    ((key, claim),) = records(kafka, topics[0])
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topics[0], json.dumps({**json.loads(claim), "format_version": 2}), key, partition=0)
    assert producer.flush(30) == 0
    before = [records(kafka, topic) for topic in topics]

    older = start_worker()
    code = older.process.wait(60)

    assert code != 0
    said = older.log.read_text()
    assert f"The cluster with group.id={group} has format_version=2, and this version knows format_version=1" in said
    assert "Run the newer version again" in said
    assert [records(kafka, topic) for topic in topics] == before
