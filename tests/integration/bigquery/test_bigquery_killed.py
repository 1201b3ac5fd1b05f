"""Sends a topic full of duplicates through a worker that is killed, into a table that must equal a plain model."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from bigquery_oracle import Message, latest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for

CONFIG = Path(__file__).parents[3] / "configs" / "bigquery-sink.json"
PARTITIONS = 3
SOON = {"consumer.override.session.timeout.ms": "6000"}
"""After which Kafka gives the partitions of a killed worker to the next one."""


@pytest.fixture
def worker(kafka, tmp_path, unique):
    process = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    process.start()
    yield process
    process.stop()


def duplicates(seed: int, count: int) -> list[Message]:
    """Messages about few ids, spread over partitions without regard to the id, times out of order, some deletes."""
    chance = random.Random(seed)
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    messages = []
    for number in range(count):
        partition = chance.randrange(PARTITIONS)
        text = None if chance.random() < 0.05 else f"{partition}@{offsets[partition]}"
        time_s = number // 10 + chance.randrange(-20, 20) + 100
        messages.append(Message(partition, offsets[partition], chance.randrange(count // 8), time_s, text=text))
        offsets[partition] += 1
    return messages


def produce(kafka, topic: str, messages: list[Message]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for message in messages:
        producer.produce(
            topic,
            key=json.dumps({"id": message.id}),
            value=None if message.value is None else json.dumps(message.value, default=str),
            partition=message.partition,
            timestamp=int(message.time.timestamp() * 1000),
        )
    assert producer.flush(30) == 0


def committed(kafka, connector: str, topic: str) -> int:
    """How many records the connector's group has behind it."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    group = f"connect-{connector}"
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(PARTITIONS)])
    found = admin.list_consumer_group_offsets([request])[group].result(30)
    return sum(max(0, place.offset) for place in found.topic_partitions)


def config_of(kafka, dataset, topic: str, **others: str) -> dict[str, str]:
    """configs/bigquery-sink.json as it stands, but for where the services are and how often it merges."""
    given = json.loads(CONFIG.read_text())["config"]
    del given["keyfile"]
    letters = {"errors.deadletterqueue.topic.name": f"{topic}-letters"}
    return {**given, **dataset.settings(), **letters, "topics": topic, **others}


@pytest.mark.chaos
def test_each_record_is_a_row_once_after_the_worker_was_killed(worker, kafka, dataset, unique):
    topic, name = f"{unique}-orders", f"{unique}-sink"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, config={"retention.ms": "-1"})])[topic].result(30)
    messages = [m for m in duplicates(seed=3, count=600) if m.text is not None]
    produce(kafka, topic, messages)
    config = config_of(
        kafka, dataset, topic,
        **{"exactly.once": "true", "consumer.override.max.poll.records": "20", "timePartitioningType": "NONE",
           "tasks.max": "2", **SOON},
    )  # fmt: skip
    for key in [key for key in config if key.startswith("dedup.")]:
        del config[key]
    assert worker.create(name, config).status_code == 201
    counted = f"SELECT COUNT(*) AS found FROM `{dataset.name}`.`{topic}`"
    for least in (1, 200, 400):
        wait_for(
            lambda least=least: topic in dataset.tables() and dataset.query(counted)[0]["found"] >= least,
            90, f"{least} rows", by=worker,
        )  # fmt: skip
        worker.kill()
        worker.start()
    wait_for(lambda: committed(kafka, name, topic) == len(messages), 120, "all commits", by=worker, pause_s=1.0)
    rows = dataset.query(f"SELECT _kafka_partition AS p, _kafka_offset AS o FROM `{dataset.name}`.`{topic}`")
    ends = [sum(m.partition == p for m in messages) for p in range(PARTITIONS)]
    assert sorted((row["p"], row["o"]) for row in rows) == [(p, o) for p, end in enumerate(ends) for o in range(end)]


@pytest.mark.parametrize("tasks", [2, pytest.param(1, marks=pytest.mark.chaos)])
def test_the_table_equals_the_model_after_the_worker_was_killed(worker, kafka, dataset, unique, tasks):
    topic, name = f"{unique}-orders", f"{unique}-sink"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    # The messages are older than a broker keeps them by itself.
    made = NewTopic(topic, PARTITIONS, config={"retention.ms": "-1"})
    admin.create_topics([made])[topic].result(30)
    messages = duplicates(seed=tasks, count=1200)
    produce(kafka, topic, messages[:800])
    few = {"dedup.merge.max.records": "150", "consumer.override.max.poll.records": "50", "tasks.max": str(tasks)}
    assert worker.create(name, config_of(kafka, dataset, topic, **few, **SOON)).status_code == 201
    wait_for(lambda: committed(kafka, name, topic) > 0, 90, "the first commit", by=worker)
    worker.kill()
    produce(kafka, topic, messages[800:])
    worker.start()
    wait_for(lambda: committed(kafka, name, topic) == len(messages), 120, "all commits", by=worker, pause_s=1.0)
    model = latest(messages)
    rows = dataset.rows(topic)
    assert len({row["id"] for row in rows}) == len(rows)
    assert [(row["id"], row["text"]) for row in rows] == [(key, model[key].text) for key in sorted(model)]
    places = [(row["_kafka_partition"], row["_kafka_offset"]) for row in rows]
    assert places == [(model[key].partition, model[key].offset) for key in sorted(model)]
