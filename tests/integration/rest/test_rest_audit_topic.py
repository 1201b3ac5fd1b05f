"""Checks the audit log's topic on real Kafka: a line for each change, whichever worker was asked, and for what was
refused.
"""

from __future__ import annotations

import json
from pathlib import Path

from e2e_worker import wait_for
from rest_workers import ask, two_workers

from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.lib.deadline import Deadline
from connect.tools.services import KafkaEndpoint

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/no-such-file", "password": "h1dden-value"}
ADA, EVE = ("ada", "l0velace-9"), ("eve", "w1thout-rights")


def values(kafka: KafkaEndpoint, topic: str) -> list[bytes]:
    client, deadline = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "looking-on"}, Deadline.after(60)
    admin = TopicAdmin(client)
    partitions = [TopicPartition(topic, n) for n in range(admin.partition_counts([topic], deadline).get(topic, 0))]
    spans = {tp: OffsetRange(0, end) for tp, end in admin.end_offsets(partitions, deadline).items()}
    return [value for raw in read_spans(client, spans, deadline) for value in raw.values.to_pylist()]


def test_each_change_is_in_the_topic_once(kafka: KafkaEndpoint, tmp_path: Path, unique: str) -> None:
    (tmp_path / "users").write_text("".join(f"{name}={password}\n" for name, password in (ADA, EVE)))
    topic = f"{unique}-audit"
    keys = {
        "rest.basic.auth.file": str(tmp_path / "users"), "rest.roles.editor": "ada on orders-*",
        "rest.roles.viewer": "*", "rest.audit.topic": topic,
    }  # fmt: skip
    with two_workers(kafka, tmp_path, **keys) as workers:
        for number, worker in enumerate(workers):
            path = f"/connectors/orders-{number}/config"
            assert ask(worker, "PUT", path, CONFIG, auth=ADA).status_code == 201
            assert ask(worker, "PUT", path, {**CONFIG, "topic": "u"}, auth=ADA).status_code == 200
            assert ask(worker, "PUT", f"/connectors/orders-{number}/pause", auth=ADA).status_code == 202
            assert ask(worker, "GET", f"/connectors/orders-{number}", auth=EVE).status_code == 200
            assert ask(worker, "DELETE", f"/connectors/orders-{number}", auth=EVE).status_code == 403
            assert ask(worker, "GET", "/connectors", auth=("eve", "wr0ng-secret")).status_code == 401
        found = wait_for(lambda: len(values(kafka, topic)) >= 10 and values(kafka, topic), 60, "the lines in the topic")
    lines = [json.loads(value) for value in values(kafka, topic)]
    assert len(found) == len(lines) == 10
    assert {line["from"] for line in lines} == {"127.0.0.1"}
    for number in range(2):
        own = [line for line in lines if line["connectors"] == [f"orders-{number}"]]
        assert [(line["who"], line["method"], line["outcome"]) for line in own] == [
            ("ada", "PUT", "done"), ("ada", "PUT", "done"), ("ada", "PUT", "done"), ("eve", "DELETE", "refused"),
        ]  # fmt: skip
        assert own[1]["changes"][f"orders-{number}"]["changed"] == {"topic": {"from": "t", "to": "u"}}
    everything = b"".join(values(kafka, topic))
    assert not [word for word in ("h1dden-value", ADA[1], EVE[1], "wr0ng-secret") if word.encode() in everything]
