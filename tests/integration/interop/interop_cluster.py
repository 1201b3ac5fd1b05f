"""Runs a Connect cluster in turns with a Java worker and with ours, and compares their answers and the topics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import requests
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint
from connect.tools.services.java_connect import InternalTopics, JavaConnectService

SLOW_S = 90.0
TEXT = "org.apache.kafka.connect.storage.StringConverter"
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
NOTE = 'ü "quoted" \\ \x01 😀 </b>'
"""No plug-in knows this setting; it has the characters that JSON writers write in different ways."""


def java_worker(kafka: KafkaEndpoint, group: str, folder: Path, **properties: str) -> JavaConnectService:
    """Return a Java worker of the cluster that has the same topics as our `WorkerProcess` of that name."""
    topics = InternalTopics(f"{group}-configs", f"{group}-offsets", f"{group}-status")
    properties = {"offset.flush.interval.ms": "500", **properties}
    return JavaConnectService(
        kafka.bootstrap_servers, group_id=group, topics=topics, data_folder=folder, properties=properties
    )


def our_worker(kafka: KafkaEndpoint, group: str, folder: Path) -> WorkerProcess:
    """Return our worker of the same cluster."""
    return WorkerProcess(folder, kafka.bootstrap_servers, group)


def source(file: Path, topic: str) -> dict[str, str]:
    """Return the configuration of a file source of text."""
    return {
        "connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": topic, "key.converter": TEXT,
        "value.converter": TEXT, "note": NOTE,
    }  # fmt: skip


def sink(file: Path, topic: str) -> dict[str, str]:
    """Return the configuration of a file sink of text."""
    return {
        "connector.class": SINK, "tasks.max": "1", "file": str(file), "topics": topic, "key.converter": TEXT,
        "value.converter": TEXT,
    }  # fmt: skip


class Rest:
    """Makes calls to a worker of either kind; an answer that is no success fails the test."""

    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str) -> Any:
        return self._call("GET", path).json()

    def put(self, path: str, body: Mapping[str, str] | None = None) -> None:
        self._call("PUT", path, body)

    def patch(self, path: str, body: object) -> None:
        self._call("PATCH", path, body)

    def delete(self, path: str) -> None:
        self._call("DELETE", path)

    def create(self, name: str, config: Mapping[str, str]) -> None:
        self._call("POST", "", {"name": name, "config": config})

    def view(self) -> dict[str, Any]:
        """Return everything that the worker tells about the connectors, except for which worker runs them."""
        found: dict[str, Any] = self.get("?expand=info&expand=status")
        for name, connector in found.items():
            connector["offsets"] = self.get(f"/{name}/offsets")["offsets"]
            connector["topics"] = self.get(f"/{name}/topics")[name]["topics"]
            connector["task configs"] = self.get(f"/{name}/tasks")
            for part in (connector["status"]["connector"], *connector["status"]["tasks"]):
                del part["worker_id"]
        return found

    def view_once_it_is(self, expected: Mapping[str, Any]) -> dict[str, Any]:
        """Return the view as soon as it is the expected one, or else the last one after a long wait."""
        limit_s, seen = time.monotonic() + SLOW_S, self.view()

        def settled() -> bool:
            nonlocal seen
            seen = self.view()
            return seen == expected or time.monotonic() > limit_s

        wait_for(settled, SLOW_S * 2, "the view")
        return seen

    def wait_for_states(self, expected: Mapping[str, str]) -> None:
        """Wait until connectors and tasks are in these states; a stopped connector has no tasks."""

        def settled() -> bool:
            found = self.get("?expand=status")
            return all(is_in(found[name]["status"], state) for name, state in expected.items())

        wait_for(settled, SLOW_S, f"states {expected}")

    def wait_for_offset(self, name: str, offset: Mapping[str, object]) -> None:
        """Wait until the connector's one partition has this offset."""

        def stored() -> bool:
            offsets = self.get(f"/{name}/offsets")["offsets"]
            return [o["offset"] for o in offsets] == [offset]

        wait_for(stored, SLOW_S, f"offset {offset} of {name}")

    def _call(self, method: str, path: str, body: object = None) -> requests.Response:
        def answered() -> list[requests.Response]:
            answer = requests.request(method, f"{self._url}/connectors{path}", json=body, timeout=SLOW_S)
            return [] if answer.status_code == requests.codes.conflict else [answer]  # A rebalance goes on.

        [answer] = wait_for(answered, SLOW_S, f"{method} {path}")
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer


def is_in(status: Mapping[str, Any], state: str) -> bool:
    tasks = [task["state"] for task in status["tasks"]]
    return status["connector"]["state"] == state and tasks == ([] if state == "STOPPED" else [state])


def append(file: Path, lines: Iterable[str]) -> None:
    with file.open("a", encoding="ascii") as opened:
        opened.writelines(f"{line}\n" for line in lines)


def lines_in(kafka: KafkaEndpoint, topic: str) -> list[str]:
    """Return the committed values of a topic of one partition, in order; none if there is no such topic."""
    return [message.value().decode() for message in _messages(kafka, topic, [0])]


def keys_in(kafka: KafkaEndpoint, topic: str) -> list[bytes]:
    """Return the keys of all committed records of a topic that exists."""
    return [key for key, _ in records_in(kafka, topic)]


def records_in(kafka: KafkaEndpoint, topic: str) -> list[tuple[bytes, bytes | None]]:
    """Return keys and values of all committed records of a topic that exists, in the order of each partition."""
    partitions = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(topic).topics[topic].partitions
    return [(message.key(), message.value()) for message in _messages(kafka, topic, partitions)]


def _messages(kafka: KafkaEndpoint, topic: str, partitions: Iterable[int]) -> list[Message]:
    settings = {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": "unused", "enable.auto.commit": False,
        "enable.partition.eof": True, "isolation.level": "read_committed", "allow.auto.create.topics": False,
    }  # fmt: skip
    messages: list[Message] = []
    unfinished = set(partitions)
    consumer = Consumer(settings)
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in unfinished])
        limit_s = time.monotonic() + SLOW_S
        while time.monotonic() < limit_s:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error() is not None:
                assert message.error().code() in {KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART}
                unfinished.discard(message.partition())
                if not unfinished:
                    return messages
                continue
            messages.append(message)
    finally:
        consumer.close()
    raise AssertionError(f"no end of topic {topic} within {SLOW_S} s")


def wait_for_lines(kafka: KafkaEndpoint, topic: str, count: int) -> None:
    """Wait until the topic has at least `count` lines."""
    wait_for(lambda: len(lines_in(kafka, topic)) >= count, SLOW_S, f"{count} lines in {topic}")
