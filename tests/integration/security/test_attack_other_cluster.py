"""A connector keeps its offsets in no topic of another cluster, where they would move that cluster's connectors."""

from __future__ import annotations

import json

import pytest
from attacked import Target
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic


@pytest.mark.parametrize("kind", ["offset", "status"])
def test_offsets_go_into_no_topic_that_another_cluster_claims(target: Target, kind: str) -> None:
    name = f"{target.name}-beside-{kind}"
    topics = {f"{one}.storage.topic": f"{name}-{one}" for one in ("config", "offset", "status")}
    kafka = {"bootstrap.servers": target.bootstrap_servers}
    admin = AdminClient(kafka)
    made = admin.create_topics(
        [NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"}) for topic in (f"{name}-slots", *topics.values())]
    )
    for one in made.values():
        one.result(60)
    producer = Producer(kafka)
    producer.produce(f"{name}-slots", json.dumps({"group.id": name, **topics}), b"cluster", 0)
    assert producer.flush(60) == 0
    own = topics[f"{kind}.storage.topic"]
    config = {"connector.class": "FileStreamSource", "topic": f"{name}-rows", "offsets.storage.topic": own}
    assert target.create(name, config).status_code == 201
    try:
        status = target.worker.wait_for_tasks(name, "FAILED")
        assert f"Topic {own} holds the state of another cluster of workers" in status["tasks"][0]["trace"]
    finally:
        target.delete(name)
