"""Uses the commands as a person does, against our worker and against Java's."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys

import pytest
from e2e_worker import WorkerProcess, wait_for

from connect import __version__
from connect.tools.services.java_connect import InternalTopics, JavaConnectService


@pytest.fixture(scope="module", params=["ours", "java"])
def url(request, kafka, tmp_path_factory):
    folder, group = tmp_path_factory.mktemp(request.param), f"cli-{secrets.token_hex(3)}"
    if request.param == "ours":
        worker = WorkerProcess(folder, kafka.bootstrap_servers, group)
        worker.start()
        yield worker.url
        worker.stop()
        return
    topics = InternalTopics(f"{group}-configs", f"{group}-offsets", f"{group}-status")
    with JavaConnectService(kafka.bootstrap_servers, group_id=group, topics=topics, data_folder=folder) as java:
        yield java.endpoint.url


@pytest.fixture
def run(url, tmp_path):
    def call(*argv: str, code: int = 0, **environ: str) -> str:
        environ = {**os.environ, "CONNECT_CONTEXTS": str(tmp_path / "contexts.yaml"), "CONNECT_URL": url, **environ}
        done = subprocess.run(
            [sys.executable, "-m", "connect.cli", *argv],
            capture_output=True,
            text=True,
            env=environ,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, (argv, done.stdout, done.stderr)
        return done.stdout + done.stderr

    return call


def source(folder, topic):
    file = folder / f"{topic}.txt"
    file.write_text("a\nb\n")
    text = "org.apache.kafka.connect.storage.StringConverter"
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1",
        "file": str(file), "topic": topic, "key.converter": text, "value.converter": text,
    }  # fmt: skip


def figures_at_the_top(run, connector):
    """Whether `connect top` knows the rate, the CPU and the memory of the connector's running task."""
    (line,) = (line for line in json.loads(run("top", "--json", "--interval", "1.5")) if line["connector"] == connector)
    assert line["task"] in {"", "0"}
    if line["state"] != "RUNNING":
        return None
    return [line[name] is not None for name in ("rows_per_second", "host_cpu_percent", "host_memory_bytes")]


def test_a_connectors_life_by_commands(run, request, tmp_path, unique):
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"name": unique, "config": source(tmp_path, unique)}))

    assert f"create  {unique}" in run("connectors", "apply", "-f", str(file), "--dry-run")
    assert unique not in json.loads(run("connectors", "list", "--json"))
    assert f"{unique}: fine" in run("validate", str(file))
    run("connectors", "apply", "-f", str(file))
    wait_for(lambda: "1/1" in run("connectors", "list"), 60, "a running task")
    assert f"leave   {unique}" in run("connectors", "apply", "-f", str(file))

    changed = {**source(tmp_path, unique), "batch.size": "50"}
    file.write_text(json.dumps({"name": unique, "config": changed}))
    assert "batch.size: (none) -> 50" in run("connectors", "diff", "-f", str(file), code=1)
    run("connectors", "apply", "-f", str(file))
    assert json.loads(run("connectors", "get", unique))["config"]["batch.size"] == "50"
    assert run("connectors", "diff", "-f", str(file)).startswith("leave")

    wait_for(lambda: json.loads(run("connectors", "offsets", unique))["offsets"], 60, "offsets")
    wait_for(lambda: f"connector {unique}: RUNNING" in run("connectors", "why", unique), 60, "a running connector")
    tells = "java" not in request.node.callspec.id
    # A rate needs two looks at the same run of the task, and the changed configuration began another one.
    wait_for(lambda: figures_at_the_top(run, unique) == [tells] * 3, 60, "what the cluster tells of the task")
    assert unique in run("top", "--once", "--interval", "0.3")
    run("connectors", "pause", unique)
    wait_for(lambda: "PAUSED" in run("connectors", "status", unique), 60, "a paused connector")
    run("connectors", "resume", unique)
    run("connectors", "stop", unique)
    wait_for(lambda: "STOPPED" in run("connectors", "status", unique), 60, "a stopped connector")
    stored = tmp_path / "offsets.json"
    stored.write_text(run("connectors", "offsets", unique))
    run("connectors", "offsets", unique, "--reset")
    assert json.loads(run("connectors", "offsets", unique))["offsets"] == []
    run("connectors", "offsets", unique, "--set", str(stored))
    assert json.loads(run("connectors", "offsets", unique)) == json.loads(stored.read_text())
    assert "offsets" not in run("connectors", "topics", unique)
    assert f"Connector {unique}-x not found" in run("connectors", "topics", f"{unique}-x", code=1)
    if tells:
        history = run("connectors", "history", unique)
        assert "+batch.size" in history
        assert f"(connect/{__version__})" in history
        run("connectors", "rollback", unique, "1")
        assert "batch.size" not in json.loads(run("connectors", "get", unique))["config"]
    else:
        for words in (["history", unique], ["rollback", unique, "1"]):
            assert "keeps no versions of configurations, as a Java one does not" in run("connectors", *words, code=1)
    run("connectors", "delete", unique, "--yes")
    assert f"Connector {unique} not found" in run("connectors", "get", unique, code=1)


def test_a_folder_is_the_truth_with_prune(run, tmp_path, unique):
    folder = tmp_path / "connectors"
    folder.mkdir()
    for name in ("a", "b"):
        config = source(tmp_path, f"{unique}-{name}")
        manifest = {
            "kind": "KafkaConnector", "metadata": {"name": f"{unique}-{name}"},
            "spec": {"class": config.pop("connector.class"), "tasksMax": 1, "config": config},
        }  # fmt: skip
        (folder / f"{name}.yaml").write_text(json.dumps(manifest))
    run("connectors", "apply", "-f", str(folder), "--prune")
    both = {f"{unique}-a", f"{unique}-b"}
    # Java's REST interface leaves a connector out until its first status is written.
    wait_for(lambda: json.loads(run("connectors", "list", "--json")).keys() == both, 60, "both connectors")
    (folder / "b.yaml").unlink()
    assert f"delete  {unique}-b" in run("connectors", "apply", "-f", str(folder), "--prune")
    assert {f"{unique}-a"} == json.loads(run("connectors", "list", "--json")).keys()
    (folder / "a.yaml").unlink()
    refused = run("connectors", "apply", "-f", str(folder), "--prune", code=1)
    assert "pruning would delete 1 connector" in refused
    assert {f"{unique}-a"} == json.loads(run("connectors", "list", "--json")).keys()
    run("connectors", "delete", f"{unique}-a", "--yes")


def test_what_is_wrong_is_said_in_words(run, tmp_path, unique):
    file = tmp_path / "broken.json"
    file.write_text(json.dumps({"name": unique, "config": {**source(tmp_path, unique), "tasks.max": "none"}}))
    assert "tasks.max: Invalid value none" in run("validate", "-f", str(file), code=1)
    assert "1 change refused; all else is as the files say." in run("connectors", "apply", "-f", str(file), code=1)
    misspelt = {**source(tmp_path, unique), "connector.class": "FileStreamSourceConector"}
    (tmp_path / "misspelt.json").write_text(json.dumps({"name": f"{unique}-2", "config": misspelt}))
    both = run("validate", str(tmp_path / "misspelt.json"), "-f", str(file), code=1)
    assert "connector.class: The cluster has no connector FileStreamSourceConector." in both
    assert "Is org.apache.kafka.connect.file.FileStreamSourceConnector meant?" in both
    assert "PluginDesc" not in both
    (tmp_path / "classless.json").write_text(json.dumps({"name": f"{unique}-3", "config": {"topic": "t"}}))
    classless = run("validate", str(tmp_path / "classless.json"), "-f", str(file), code=1)
    assert f"{unique}-3: broken" in classless
    assert "contains no connector type" in classless
    assert "Exception" not in classless
    assert "tasks.max: Invalid value none" in classless
    assert "tasks.max: Invalid value none" in both, "the other files are looked at, too"
    assert f"Connector {unique} not found" in run("connectors", "get", unique, code=1)
    told = run("status", CONNECT_URL="http://127.0.0.1:9", code=1)
    assert "No worker answers at http://127.0.0.1:9: Connection refused." in told
    assert "Traceback" not in told
    assert "no address of a worker" in run("status", CONNECT_URL="127.0.0.1", code=1)


def test_a_context_names_a_cluster(run, url):
    run("context", "add", "here", url)
    run("context", "add", "nowhere", "http://127.0.0.1:9")
    assert "* here" in " ".join(run("context", "list").split())
    assert "FileStreamSource" in run("plugins", CONNECT_URL="")
    assert "No worker answers" in run("plugins", "--context", "nowhere", code=1)
    run("context", "use", "nowhere")
    assert "No worker answers" in run("plugins", CONNECT_URL="", code=1)
    assert "There is no context 'gone'; known: here, nowhere." in run("context", "use", "gone", code=1)
