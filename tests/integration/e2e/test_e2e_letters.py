"""Checks dead letters of sources and sinks on real Kafka: killed at any moment, a bad row is a letter or comes
again.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self
from urllib.parse import urlsplit

import pytest
from confluent_kafka import Consumer, TopicPartition
from e2e_worker import WorkerProcess, wait_for
from test_e2e_bad_records import committed, produce

from connect.tools.services.process.ports import free_ports

STRING = "org.apache.kafka.connect.storage.StringConverter"
LETTERS = {
    "errors.tolerance": "all", "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.log.enable": "true", "errors.log.include.messages": "true",
}  # fmt: skip


def everything(kafka, topic: str) -> list:
    """All committed records that the topic's one partition holds now."""
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "none", "enable.partition.eof": True}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    found: list = []
    try:
        if consumer.list_topics(topic, timeout=10).topics[topic].error is not None:
            return found
        end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1]
        consumer.assign([TopicPartition(topic, 0, 0)])
        while end:
            for message in consumer.consume(10_000, 0.2):
                if message.error() is not None:
                    return found
                found.append(message)
                if message.offset() >= end - 1:
                    return found
    finally:
        consumer.close()
    return found


def source(path, topic: str, letters: str, **more: str) -> dict[str, str]:
    """Lines as whole numbers; a line that is none is bad."""
    return {
        "connector.class": "FileStreamSource", "file": str(path), "topic": topic, "batch.size": "200",
        "value.converter": STRING, "transforms": "whole",
        "transforms.whole.type": "org.apache.kafka.connect.transforms.Cast$Value", "transforms.whole.spec": "int64",
        "errors.deadletterqueue.topic.name": letters, **LETTERS, **more,
    }  # fmt: skip


class Lines:
    """Appends numbered lines all the time; every tenth is no number, and every tenth no text."""

    def __init__(self, path) -> None:
        self._path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            begins = {0: "x", 5: "é"}
            made = [f"{begins.get(n % 10, '')}{n}" for n in range(len(self.lines), len(self.lines) + 40)]
            with self._path.open("a", encoding="latin-1") as file:
                file.write("".join(f"{line}\n" for line in made))
            self.lines += made


def payloads(messages: list) -> list[str]:
    return [json.loads(m.value())["payload"] for m in messages]


def of_stage(messages: list, stage: bytes) -> list:
    return [m for m in messages if dict(m.headers())["__connect.errors.stage"] == stage]


def killed(worker: WorkerProcess, kafka, topic: str) -> None:
    before = len(everything(kafka, topic))
    wait_for(lambda: len(everything(kafka, topic)) > before, 60, f"more records in {topic}")
    os.kill(worker.pid, signal.SIGKILL)
    worker.start()


@pytest.mark.parametrize("support", ["required", "requested"])
def test_a_source_that_is_killed_loses_no_row_and_no_letter(support, kafka, tmp_path, unique):
    topic, letters = f"{unique}-out", f"{unique}-dlq"
    exactly_once = support == "required"
    worker = WorkerProcess(
        tmp_path, kafka.bootstrap_servers, unique,
        **({"exactly.once.source.support": "enabled"} if exactly_once else {}),
    )  # fmt: skip
    with Lines(tmp_path / "lines.txt") as writer:
        try:
            worker.start()
            config = source(tmp_path / "lines.txt", topic, letters, **{"exactly.once.support": support})
            assert worker.create("lines", config).status_code == 201
            wait_for(lambda: everything(kafka, topic), 60, "the first rows")
            killed(worker, kafka, topic)
            writer.__exit__()
            last = writer.lines[-1]
            wait_for(lambda: last.encode() in [m.value() for m in everything(kafka, topic)], 60, "the last row")
            good = [m.value().decode() for m in everything(kafka, topic)]
            set_aside = everything(kafka, letters)
        finally:
            worker.stop()
    no_numbers = payloads(of_stage(set_aside, b"TRANSFORMATION"))
    no_texts = [b64decode(kept).decode("latin-1") for kept in payloads(of_stage(set_aside, b"TASK_POLL"))]
    form = list if exactly_once else set
    assert form(good) == form(line for line in writer.lines if line.isdigit())
    assert form(no_numbers) == form(line for line in writer.lines if line.startswith("x"))
    assert form(no_texts) == form(line for line in writer.lines if line.startswith("é"))
    log = worker.log_path.read_text()
    assert "Executing stage 'TRANSFORMATION' with class 'org.apache.kafka.connect.transforms.Cast$Value'" in log


def test_a_sink_that_is_killed_loses_no_row_and_no_letter(kafka, tmp_path, unique):
    topic, letters, out = f"{unique}-in", f"{unique}-dlq", tmp_path / "out.txt"
    values = [b"x%d" % n if n % 10 == 0 else b"%d" % n for n in range(20_000)]
    produce(kafka, topic, values)
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    config = {
        "connector.class": "FileStreamSink", "file": str(out), "topics": topic, "value.converter": STRING,
        "key.converter": STRING, "transforms": "whole", "consumer.override.max.poll.records": "1000",
        "transforms.whole.type": "org.apache.kafka.connect.transforms.Cast$Value", "transforms.whole.spec": "int64",
        "errors.deadletterqueue.topic.name": letters, "offset.flush.interval.ms": "100", **LETTERS,
    }  # fmt: skip
    try:
        worker.start()
        assert worker.create("letters-sink", config).status_code == 201
        wait_for(lambda: out.exists() and out.stat().st_size > 0, 60, "the first line")
        os.kill(worker.pid, signal.SIGKILL)
        worker.start()
        wait_for(lambda: committed(kafka, "letters-sink", topic) == len(values), 90, "the last offset")
    finally:
        worker.stop()
    found = [m.value() for m in everything(kafka, letters)]
    assert set(found) == {v for v in values if v.startswith(b"x")}
    assert set(out.read_bytes().split()) == {v for v in values if not v.startswith(b"x")}


def test_a_sink_stops_at_its_limit_and_sets_no_more_aside(worker, kafka, tmp_path, unique):
    topic, letters = f"{unique}-in", f"{unique}-dlq"
    produce(kafka, topic, [b"%d" % n for n in range(500)])
    config = {
        "connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": topic,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter", "key.converter": STRING,
        "errors.deadletterqueue.topic.name": letters, "errors.tolerance.limit.count": "20", **LETTERS,
        "consumer.override.max.poll.records": "10",
    }  # fmt: skip
    assert worker.create(unique, config).status_code == 201
    trace = worker.wait_for_tasks(unique, "FAILED")["tasks"][0]["trace"]
    assert "are more than errors.tolerance.limit.count=20" in trace
    assert "errors.tolerance.limit.window.ms" in trace
    stopped_at = committed(kafka, unique, topic)
    assert len(everything(kafka, letters)) == stopped_at <= 20
    worker.call("DELETE", unique)


@contextmanager
def forwarder(port: int, target: str) -> Iterator[None]:
    """Forwards a port to an address."""
    listening = socket.create_server(("127.0.0.1", port))
    place = urlsplit(target)

    def copy(left: socket.socket, right: socket.socket) -> None:
        with left, right:
            while data := left.recv(65536):
                right.sendall(data)

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            server = socket.create_connection((place.hostname, place.port))
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            threading.Thread(target=copy, args=(server, client), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def test_a_registry_that_is_away_is_waited_for_and_no_row_is_lost(worker, kafka, registry, tmp_path, unique):
    port = free_ports(1)[0]
    path, topic, letters = tmp_path / "lines.txt", f"{unique}-out", f"{unique}-dlq"
    path.write_text("".join(f"{n}\n" for n in range(1000)))
    avro = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": f"http://127.0.0.1:{port}{urlsplit(registry.url).path}",
        "value.converter.max.retries": "0",
    }
    patient = source(path, topic, letters, **avro, **{"errors.retry.timeout": "60000"})
    impatient = source(path, f"{topic}-2", letters, **avro, **{"auto.restart.enabled": "false"})
    assert worker.create(f"{unique}-im", impatient).status_code == 201
    trace = worker.wait_for_tasks(f"{unique}-im", "FAILED")["tasks"][0]["trace"]
    assert "It was not tried again (errors.retry.timeout=0)" in trace
    assert f"127.0.0.1:{port}" in trace
    assert worker.create(unique, patient).status_code == 201
    wait_for(
        lambda: f"connector={unique} " in worker.log_path.read_text() and "Retrying in" in worker.log_path.read_text(),
        60,
        "a retry",
    )
    with forwarder(port, registry.url):
        wait_for(lambda: len(everything(kafka, topic)) >= 1000, 60, "all rows")
        assert len(everything(kafka, topic)) == 1000
        assert Counter(t["state"] for t in worker.status(unique)["tasks"]) == {"RUNNING": 1}
    assert everything(kafka, letters) == []
    for name in (unique, f"{unique}-im"):
        worker.call("DELETE", name)
