"""Follows the guide for people who come from Java Kafka Connect, line by line, from a real Java 4.1 worker to ours."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from confluent_kafka import Consumer
from e2e_worker import WorkerProcess, wait_for

import connect
from connect.tools.services.java_connect import InternalTopics, JavaConnectService

GUIDE = Path(connect.__file__).with_name("FROM_JAVA.md")
TEXT = "org.apache.kafka.connect.storage.StringConverter"
SOON = {"offset.flush.interval.ms": "1000"}
"""How often the Java worker stores offsets."""


@pytest.fixture(scope="module")
def clusters(kafka, tmp_path_factory):
    folder, group = tmp_path_factory.mktemp("clusters"), f"import-{secrets.token_hex(3)}"
    topics = InternalTopics(f"{group}-configs", f"{group}-offsets", f"{group}-status")
    ours = WorkerProcess(
        folder / "ours",
        kafka.bootstrap_servers,
        f"{group}-ours",
        **{"allowed.paths": str(tmp_path_factory.getbasetemp())},
    )
    with JavaConnectService(
        kafka.bootstrap_servers, group_id=group, topics=topics, data_folder=folder, properties=SOON
    ) as java:
        ours.start()
        yield java.endpoint.url, ours.url
        ours.stop()


@pytest.fixture
def run(clusters, tmp_path):
    """A line of the guide; its output and exit code."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "connect").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m connect.cli "$@"\n')
    (commands / "connect").chmod(0o755)

    def call(line, first="", code=0):
        environ = {**os.environ, "OLD": clusters[0], "NEW": clusters[1], "FIRST": first}
        environ |= {"PATH": f"{commands}:{os.environ['PATH']}", "CONNECT_CONTEXTS": str(tmp_path / "contexts.yaml")}
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, env=environ, cwd=tmp_path, timeout=180, check=False
        )
        assert done.returncode == code, (line, done.stdout, done.stderr)
        return done.stdout + done.stderr

    return call


def blocks():
    """The guide's lines, block by block."""
    return [block.strip().splitlines() for block in re.findall(r"```shell\n(.*?)```", GUIDE.read_text(), re.DOTALL)]


def create(url, name, config):
    answer = requests.post(f"{url}/connectors", json={"name": name, "config": config}, timeout=60)
    assert answer.status_code == 201, answer.text


def state(url, name):
    found = requests.get(f"{url}/connectors/{name}/status", timeout=30).json()
    return found.get("connector", {}).get("state"), [task["state"] for task in found.get("tasks", [])]


def remove(url, *names):
    for name in names:
        requests.delete(f"{url}/connectors/{name}", timeout=60)


def values(kafka, topic, count):
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": secrets.token_hex(6)}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = []
    try:
        wait_for(lambda: found.extend(m.value() for m in consumer.consume(10, 1.0)) or len(found) >= count, 60, topic)
        found.extend(message.value() for message in consumer.consume(10, 2.0))
    finally:
        consumer.close()
    return [value.decode() for value in found]


def source(file, topic):
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1",
        "file": str(file), "topic": topic, "key.converter": TEXT, "value.converter": TEXT,
    }  # fmt: skip


def sink(file, topic):
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1",
        "file": str(file), "topics": topic, "key.converter": TEXT, "value.converter": TEXT,
    }  # fmt: skip


def test_the_guide_moves_connectors_there_and_back_without_a_line_lost_or_twice(run, clusters, kafka, tmp_path):
    old, new = clusters
    name, reader = f"lines-{secrets.token_hex(3)}", f"reader-{secrets.token_hex(3)}"
    lines, copy = tmp_path / "lines.txt", tmp_path / "copy.txt"

    def add(*texts):
        with lines.open("a") as file:
            file.write("".join(f"{text}\n" for text in texts))

    add("a", "b")
    create(old, name, source(lines, name))
    create(old, reader, sink(copy, name))
    wait_for(lambda: copy.exists() and copy.read_text() == "a\nb\n", 60, "the sink of Java")
    look, copied, move, back = blocks()

    (line,) = look
    assert f"{name}: can be copied" in run(line)
    assert requests.get(f"{new}/connectors", timeout=30).json() == []

    wait_for(lambda: requests.get(f"{old}/connectors/{name}/offsets", timeout=30).json()["offsets"], 90, "offsets")
    assert f"{name}: copied (7 of 7 keys as they are, 1 offsets)" in run(copied[0])
    wait_for(lambda: state(new, name) == ("STOPPED", []), 60, "a stopped copy")
    assert state(old, name)[0] == "RUNNING"
    assert "STOPPED" in run(copied[1])

    add("c")
    assert values(kafka, name, 3) == ["a", "b", "c"]
    for line in move:
        output = run(line, first=name)
        if "--move" in line:
            assert ": moved (" in output
    wait_for(lambda: state(old, name) == ("STOPPED", []), 60, "a stopped connector of Java")
    wait_for(lambda: state(new, reader) == ("RUNNING", ["RUNNING"]), 60, "the sink of ours")
    add("d")
    assert values(kafka, name, 4) == ["a", "b", "c", "d"]
    wait_for(lambda: copy.read_text() == "a\nb\nc\nd\n", 60, "the sink of ours")

    stop, save, bring, resume = back
    run(stop, first=name)
    wait_for(lambda: state(new, name) == ("STOPPED", []), 60, "a stopped connector")
    run(save, first=name)
    run(bring, first=name)
    run(resume, first=name)
    add("e")
    assert values(kafka, name, 5) == ["a", "b", "c", "d", "e"]
    remove(old, name, reader)
    remove(new, name, reader)


def test_what_is_not_taken_is_named_and_goes_on_there(run, clusters, tmp_path):
    old, new = clusters
    (tmp_path / "in.txt").write_text("x\n")
    good, bad, taken = (f"{kind}-{secrets.token_hex(3)}" for kind in ("good", "bad", "taken"))
    create(old, good, source(tmp_path / "in.txt", good))
    create(old, bad, source("/etc/hostname", bad))
    create(old, taken, source(tmp_path / "in.txt", taken))
    create(new, taken, source(tmp_path / "other.txt", taken))

    reports = json.loads(run("connect import --from $OLD --url $NEW --move --json", code=1))
    verdicts = {report["name"]: report["verdict"] for report in reports}
    assert verdicts[good] == "moved"
    assert verdicts[taken] == "refused"
    keys = {report["name"]: report["keys"] for report in reports}
    reasons = {report["name"]: report["reason"] for report in reports}
    assert "already exists" in reasons[taken]
    assert "1 of its keys" in reasons[bad]
    assert any("allowed.paths" in error for key in keys[bad] for error in key["errors"] if key["key"] == "file")
    wait_for(lambda: state(old, bad)[0] == "RUNNING", 60, "one that was left alone")
    wait_for(lambda: state(old, taken)[0] == "RUNNING", 60, "one that was resumed there")
    wait_for(lambda: state(new, taken)[0] == "RUNNING", 60, "one that was here before")
    remove(old, good, bad, taken)
    remove(new, good, bad, taken)


def test_offsets_that_a_former_connector_of_the_name_left_here_are_forgotten(run, clusters, tmp_path):
    old, new = clusters
    name = f"left-{secrets.token_hex(3)}"
    config = source(tmp_path / "in.txt", name)
    (tmp_path / "in.txt").write_text("x\n")

    def offsets():
        return requests.get(f"{new}/connectors/{name}/offsets", timeout=30).json()["offsets"]

    create(new, name, config)
    wait_for(offsets, 60, "offsets")
    remove(new, name)
    made = {"name": name, "config": config, "initial_state": "STOPPED"}
    assert requests.post(f"{old}/connectors", json=made, timeout=60).status_code == 201
    wait_for(lambda: state(old, name) == ("STOPPED", []), 60, "a stopped connector of Java")
    assert "it begins at the beginning" in run(f"connect import --from $OLD --url $NEW --move {name}")
    assert offsets() == []
    remove(old, name)
    remove(new, name)
