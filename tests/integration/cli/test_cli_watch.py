"""Checks that a folder is the truth for `connect connectors apply --watch`, on our worker and on Java's."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
import requests
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services.java_connect import InternalTopics, JavaConnectService

TEXT = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture(scope="module", params=["ours", "java"])
def url(request, kafka, tmp_path_factory):
    folder, group = tmp_path_factory.mktemp(request.param), f"watch-{secrets.token_hex(3)}"
    if request.param == "ours":
        worker = WorkerProcess(folder, kafka.bootstrap_servers, group)
        worker.start()
        yield worker.url
        worker.stop()
        return
    topics = InternalTopics(f"{group}-configs", f"{group}-offsets", f"{group}-status")
    with JavaConnectService(kafka.bootstrap_servers, group_id=group, topics=topics, data_folder=folder) as java:
        yield java.endpoint.url


class Watch:
    """The command beside the test, with the conditions that it writes."""

    def __init__(self, process: subprocess.Popen[str], conditions) -> None:
        self.process = process
        self.said = ""
        self._conditions = conditions

    def reason(self, about: str) -> str | None:
        """The reason of the condition about a connector or file; None while there is none."""
        assert self.process.poll() is None, self.process.stdout.read()
        items = json.loads(self._conditions.read_text())["items"] if self._conditions.exists() else []
        return next((item["conditions"][0]["reason"] for item in items if item["name"] == about), None)

    def wait_for(self, about: str, reason: str | None) -> None:
        wait_for(lambda: self.reason(about) == reason, 120, f"{about} {reason}")


@contextmanager
def watching(url, folder, conditions, *options):
    argv = ["connectors", "apply", "-f", str(folder), "--watch", "--every", "0.2", "--conditions", str(conditions)]
    process = subprocess.Popen(
        [sys.executable, "-m", "connect.cli", *argv, *options], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "CONNECT_URL": url},
    )  # fmt: skip
    try:
        watch = Watch(process, conditions)
        yield watch
        process.send_signal(signal.SIGTERM)
        watch.said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, watch.said
    finally:
        process.kill()
        process.wait()


def source(folder, topic, **more):
    """A KafkaConnector as Strimzi's users write it."""
    (folder / f"{topic}.txt").write_text("a\n")
    config = {"file": str(folder / f"{topic}.txt"), "topic": topic, "key.converter": TEXT, "value.converter": TEXT}
    return {
        "apiVersion": "kafka.strimzi.io/v1beta2", "kind": "KafkaConnector", "metadata": {"name": topic},
        "spec": {
            "class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasksMax": 1,
            "config": {**config, **more},
        },
    }  # fmt: skip


def test_a_folder_stays_the_truth(url, tmp_path, unique):
    folder = tmp_path / "connectors"
    folder.mkdir()
    first, second = f"{unique}-first", f"{unique}-second"
    (folder / "first.json").write_text(json.dumps(source(tmp_path, first)))
    with watching(url, folder, tmp_path / "conditions.json", "--prune") as watch:
        watch.wait_for(first, "Running")

        (folder / "second.json").write_text("{ this is no")
        watch.wait_for(str(folder / "second.json"), "FileNotUsable")
        assert watch.reason(first) == "Running"
        (folder / "second.json").write_text(json.dumps(source(tmp_path, second)))
        watch.wait_for(second, "Running")
        assert watch.reason(str(folder / "second.json")) is None

        # Somebody changes it by hand: the folder counts.
        config = requests.get(f"{url}/connectors/{first}/config", timeout=60).json()
        changed = {**config, "topic": f"{unique}-elsewhere"}
        requests.put(f"{url}/connectors/{first}/config", json=changed, timeout=60).raise_for_status()
        wait_for(
            lambda: requests.get(f"{url}/connectors/{first}/config", timeout=60).json().get("topic") == first,
            120, "the topic that the file names",
        )  # fmt: skip

        (folder / "first.json").write_text(json.dumps({"name": first, "config": {"connector.class": "no.Such"}}))
        watch.wait_for(first, "Refused")
        assert requests.get(f"{url}/connectors/{first}/config", timeout=60).json()["topic"] == first

        # Nothing is deleted while a file cannot be read, as nobody knows which connectors it wants.
        (folder / "first.json").unlink()
        (folder / "second.json").write_text("{ this is no")
        watch.wait_for(str(folder / "second.json"), "FileNotUsable")
        watch.wait_for(second, None)
        names = requests.get(f"{url}/connectors", timeout=60).json()
        assert {first, second} <= set(names)
        (folder / "second.json").write_text(json.dumps(source(tmp_path, second)))
        wait_for(lambda: first not in requests.get(f"{url}/connectors", timeout=60).json(), 120, "the first one gone")
        watch.wait_for(second, "Running")


def test_a_configmap_is_replaced_and_its_connector_runs_on(url, tmp_path, unique):
    """The steps are those of a kubelet whose ConfigMap got another name for the same file."""
    folder = tmp_path / "mounted"
    wanted = json.dumps(source(tmp_path, unique))
    for version, file in (("..1", "old.json"), ("..2", "new.json")):
        (folder / version).mkdir(parents=True)
        (folder / version / file).write_text(wanted)
    (folder / "..data").symlink_to("..1")
    (folder / "old.json").symlink_to("..data/old.json")
    with watching(url, folder, tmp_path / "conditions.json", "--prune") as watch:
        watch.wait_for(unique, "Running")
        (folder / "..data_tmp").symlink_to("..2")
        (folder / "..data_tmp").replace(folder / "..data")
        watch.wait_for(str(folder / "old.json"), "FileNotUsable")
        (folder / "new.json").symlink_to("..data/new.json")
        (folder / "old.json").unlink()
        watch.wait_for(str(folder / "old.json"), None)
        watch.wait_for(unique, "Running")
    assert f"{unique}: Deleted" not in watch.said
    assert watch.said.count(f"{unique}: Created") == 1


def test_a_worker_that_comes_back_gets_what_changed_meanwhile(kafka, tmp_path, unique):
    folder = tmp_path / "connectors"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(source(tmp_path, unique)))
    worker = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, unique)
    worker.start()
    try:
        with watching(worker.url, folder, tmp_path / "conditions.json") as watch:
            watch.wait_for(unique, "Running")
            worker.kill()
            watch.wait_for(unique, "ClusterDoesNotAnswer")
            (folder / "one.json").write_text(json.dumps(source(tmp_path, unique, **{"batch.size": "7"})))
            worker.start()
            watch.wait_for(unique, "Running")
        config = requests.get(f"{worker.url}/connectors/{unique}/config", timeout=60).json()
        assert config["batch.size"] == "7"
    finally:
        worker.stop()


def test_a_secret_that_the_cluster_does_not_show_is_sent_once(url, tmp_path, unique):
    folder = tmp_path / "connectors"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(source(tmp_path, unique, password="p" * 12)))
    with watching(url, folder, tmp_path / "conditions.json") as watch:
        watch.wait_for(unique, "Running")
        other = f"{unique}-other"
        (folder / "other.json").write_text(json.dumps(source(tmp_path, other)))
        watch.wait_for(other, "Running")  # passes have been made meanwhile
    history = requests.get(f"{url}/connectors/{unique}/history", timeout=60)
    if history.status_code == 200:  # a Java worker has no history, and shows the secret
        assert len(history.json()["configs"]) == 1
        assert requests.get(f"{url}/connectors/{unique}/config", timeout=60).json()["password"] == "[hidden]"


def test_a_worker_that_is_away_is_told_and_waited_for(tmp_path, unique):
    folder = tmp_path / "connectors"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(source(tmp_path, unique)))
    with watching("http://127.0.0.1:9", folder, tmp_path / "conditions.json") as watch:
        watch.wait_for(unique, "ClusterDoesNotAnswer")
