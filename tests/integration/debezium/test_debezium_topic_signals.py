"""Signals from a topic of Kafka have tables read again; each counts once, also when tasks break off behind it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from debezium_ours import OurRun
from debezium_peer import JSON
from debezium_shop import Shop
from e2e_worker import WorkerProcess, wait_for

from connect.api.topics import TopicRecords
from connect.runtime.parts.task_topics import TaskTopics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId
from connect.tools.services import KafkaEndpoint

pytestmark = pytest.mark.timeout(300)
ROWS = 500
ONE_PARTITION = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
Found = Mapping[str, Sequence[Mapping[str, Any]]]
Opens = Callable[[str, Mapping[str, str], str], TopicRecords]


@pytest.fixture(params=["postgres", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with ExitStack() as stack:
        shop = Shop(request.param, stack)
        values = ", ".join(f"({n})" for n in range(2, ROWS + 1))
        shop.run(f"INSERT INTO shop.orders VALUES {values}")
        yield shop


@pytest.fixture
def topic(kafka: KafkaEndpoint) -> str:
    name = f"signals-{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    return name


@pytest.fixture
def opens(kafka: KafkaEndpoint) -> Iterator[Opens]:
    """Yield what a worker gives its tasks, and closes behind them: its own brokers are others than the signals'."""
    given = {
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
    }  # fmt: skip
    topics = TaskTopics(WorkerConfig.parse(given))
    with ExitStack() as stack:

        def opened(topic: str, client: Mapping[str, str], prefix: str) -> TopicRecords:
            records = topics.records_of(TaskId("shop", 0), topic, client, prefix)
            stack.callback(records.close)
            return records

        yield opened


def _settings(kafka: KafkaEndpoint, topic: str) -> dict[str, str]:
    return {
        "signal.enabled.channels": "source,kafka", "signal.kafka.topic": topic, "signal.poll.interval.ms": "50",
        "signal.kafka.bootstrap.servers": kafka.bootstrap_servers, "signal.consumer.fetch.min.bytes": "1",
        "incremental.snapshot.chunk.size": "100", "table.include.list": "shop.orders",
    }  # fmt: skip


def _send(kafka: KafkaEndpoint, topic: str, key: str, type_: str = "execute-snapshot") -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    value = {"id": "s", "type": type_, "data": {"data-collections": ["shop.orders"], "type": "INCREMENTAL"}}
    producer.produce(topic, json.dumps(value), key)
    assert producer.flush(30) == 0


def _again(found: Found) -> list[int]:
    payloads = [record["value"]["payload"] for record in found.get("shop.orders", ())]
    return [one["after"]["id"] for one in payloads if one["source"]["snapshot"] == "incremental"]


def test_a_signal_of_a_topic_is_obeyed_once(shop: Shop, kafka: KafkaEndpoint, topic: str, opens: Opens) -> None:
    config = shop.config("reading", **_settings(kafka, topic))
    _send(kafka, topic, "reading")
    first = OurRun(config, records_of=opens)
    first.until_true(lambda found: len(found.get("shop.orders", ())) >= ROWS)
    # What was sent before the connector was made is none of its signals; its place is stored though no row came.
    first.until_true(lambda _: any("topic_offset" in json.dumps(offset) for offset in first.offsets.values()))
    first.close()
    _send(kafka, topic, "another")
    _send(kafka, topic, "reading")
    runs, ids = 0, list[int]()
    offsets = dict(first.offsets)
    while len(ids) < ROWS:
        run = OurRun(config, offsets, records_of=opens)
        wanted = min(150, ROWS - len(ids))
        run.until_true(lambda found, wanted=wanted: len(_again(found)) >= wanted)
        ids += _again(run.found)
        offsets = dict(run.offsets)
        run.close()
        runs += 1
    last = OurRun(config, offsets, records_of=opens)
    shop.run("INSERT INTO shop.orders VALUES (100000)")
    last.until_true(lambda found: bool(found.get("shop.orders")))
    last.close()
    assert sorted(ids) == list(range(1, ROWS + 1))
    assert runs > 1
    assert _again(last.found) == []


def test_a_worker_reads_a_table_again_when_its_connector_is_told_by_a_topic(
    kafka: KafkaEndpoint, topic: str, tmp_path: Path
) -> None:
    name = f"reading{secrets.token_hex(4)}"
    worker = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, name)
    looking_on = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": name})
    with ExitStack() as stack:
        shop = Shop("postgres", stack)
        shop.run("INSERT INTO shop.orders SELECT generate_series(2, 250)")
        stack.callback(looking_on.close)
        worker.start()
        stack.callback(worker.stop)
        answer = worker.create(name, shop.config(name, **_settings(kafka, topic), **ONE_PARTITION))
        assert answer.status_code == 201, answer.text
        worker.wait_for_tasks(name, "RUNNING")
        looking_on.assign([TopicPartition(f"{name}.shop.orders", 0, OFFSET_BEGINNING)])
        came: dict[str, list[int]] = {}

        def has(kind: str, count: int) -> bool:
            for record in looking_on.consume(1000, timeout=0.2):
                if record.error() is None:
                    payload = json.loads(record.value())["payload"]
                    came.setdefault(str(payload["source"]["snapshot"]), []).append(payload["after"]["id"])
            return sum(len(came[one]) for one in came if kind in {one, "any"}) >= count

        wait_for(lambda: has("any", 250), 90, lambda: f"the first read, of {came}", by=worker)
        shop.run("INSERT INTO shop.orders VALUES (1000)")
        wait_for(lambda: has("false", 1), 60, lambda: f"the log, of {came}", by=worker)
        _send(kafka, topic, name)
        wait_for(lambda: has("incremental", 251), 60, lambda: f"the rows of the signal, of {came}", by=worker)
    assert sorted(came["incremental"]) == [*range(1, 251), 1000]
    assert came["false"] == [1000]
