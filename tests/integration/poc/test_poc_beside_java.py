"""Compares a source here with the same source in a real Java cluster, in which nothing is left behind."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys

import pytest

from connect.client.rest import Access, ConnectClient
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.poc.source.java_cluster import JavaCluster
from connect.tools.services.java_connect import InternalTopics, JavaConnectService

ROWS = 5000
STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture(scope="module")
def java(kafka, tmp_path_factory):
    """A Java worker, its REST client, and the file of its properties."""
    group = f"beside-{secrets.token_hex(3)}"
    topics = InternalTopics(f"{group}-configs", f"{group}-offsets", f"{group}-status")
    properties = {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "config.storage.topic": topics.configs,
        "offset.storage.topic": topics.offsets, "status.storage.topic": topics.status,
        "key.converter": STRING, "value.converter": STRING,
    }  # fmt: skip
    file = tmp_path_factory.mktemp("java") / "worker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    with JavaConnectService(kafka.bootstrap_servers, group_id=group, topics=topics) as worker:
        yield ConnectClient(Access(worker.endpoint.url)), file, properties


@pytest.fixture
def lines(tmp_path):
    """A configuration that reads a file of lines."""
    file = tmp_path / "in.txt"
    file.write_text("".join(f"line {i} é😀\n" for i in range(ROWS)))
    return {"connector.class": "FileStreamSource", "file": str(file), "topic": "lines", "tasks.max": "1"}


def compared(tmp_path, java, config):
    rest, worker_file, _ = java
    file = tmp_path / "connector.json"
    file.write_text(json.dumps({"name": "lines", "config": config}))
    argv = [sys.executable, "-m", "connect.cli", "poc", "compare", str(file), "--json", "--duration", "60s"]
    argv += ["--java", rest.url, "--worker", str(worker_file)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return {line["what"]: (line["left"], line["right"]) for line in json.loads(done.stdout)}


def left_in(java):
    rest, _, properties = java
    admin = TopicAdmin(admin_settings(properties, {}, "looks-on").properties)
    return [*rest.connectors(), *(topic for topic in admin.topics(Deadline.after(30)) if topic.startswith("poc-"))]


def test_a_source_writes_the_same_records_as_javas_and_nothing_is_left_there(java, lines, tmp_path):
    found = compared(tmp_path, java, lines | {"key.converter": STRING, "value.converter": STRING})
    assert found["rows"] == (f"{ROWS:,}",) * 2
    assert found["came to the end of the data"] == ("yes", "yes")
    assert found["rows that the other has not"] == ("0", "0")
    assert [what for what in found if what.startswith("records that differ")] == []
    assert all(float(seconds) > 0 for seconds in found["seconds to the first row"])
    assert left_in(java) == []


@pytest.mark.chaos
def test_what_a_worker_sets_otherwise_shows_in_the_records(java, lines, tmp_path):
    """The Java worker writes JSON, its file says text."""
    found = compared(tmp_path, java, lines)
    assert found["rows that the other has not"] == (f"{ROWS:,}",) * 2
    assert found["records that differ in value (bytes)"][0] == f"{ROWS:,}"
    assert left_in(java) == []


def test_what_a_killed_comparison_left_in_the_cluster_is_removed_by_the_next(java, lines, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rest, _, properties = java
    script = (
        "import json, os, sys\nfrom connect.client.rest import Access, ConnectClient\n"
        "from connect.poc.source.java_cluster import JavaCluster\n"
        "url, properties, config = json.loads(sys.argv[1])\n"
        "cluster = JavaCluster(ConnectClient(Access(url)), properties).__enter__()\n"
        "cluster.rest.create(cluster.new_name('x'), config); os._exit(9)"
    )
    given = json.dumps([rest.url, properties, lines])
    assert subprocess.run([sys.executable, "-c", script, given], timeout=60, check=False).returncode == 9
    assert len(rest.connector_names()) == 1
    with JavaCluster(rest, properties):
        assert rest.connector_names() == []
    assert left_in(java) == []
