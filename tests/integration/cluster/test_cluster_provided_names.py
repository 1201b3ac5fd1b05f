"""Checks that what a config provider gave for a topic, a file or a password is in no answer, trace, log line, letter or
metric.
"""

import json
import re

import pytest
from cluster_worker import eventually
from kafka_records import messages, records

STRING = "org.apache.kafka.connect.storage.StringConverter"
ONCE = {"tasks.max": "1", "auto.restart.enabled": "false"}
CANARY = re.compile(r"canary\d+-s3cr3t")


@pytest.fixture
def worker(start_worker, tmp_path):
    (tmp_path / "canary1-s3cr3t.txt").write_text("one\ntwo\n")
    values = tmp_path / "values.properties"
    values.write_text(
        f"file={tmp_path}/canary1-s3cr3t.txt\ntopic=canary2-s3cr3t\nletters=canary3-s3cr3t\npassword=canary4-s3cr3t\n"
    )
    # As editors and kubectl write a secret: with a newline, which those who read it leave out.
    (tmp_path / "login").write_text("canary5-s3cr3t\n")
    provider = "org.apache.kafka.common.config.provider."
    return start_worker(
        "--log-level",
        "DEBUG",
        **{
            "config.providers": "file,dir",
            "config.providers.file.class": f"{provider}FileConfigProvider",
            "config.providers.dir.class": f"{provider}DirectoryConfigProvider",
            "python.function.modules": "canary_functions",
        },
    ).ready()


def connectors(tmp_path):
    """Name -> a configuration in which providers give names and passwords. Some run, one fails, one rejects rows."""
    values = f"${{file:{tmp_path}/values.properties"
    given = {"value.converter": STRING, "some.password": f"{values}:password}}", "other": f"${{dir:{tmp_path}:login}}"}
    source = {"connector.class": "FileStreamSource", "file": f"{values}:file}}", **given, **ONCE}
    sink = {
        "connector.class": "FileStreamSink", "topics": f"{values}:topic}}", "file": str(tmp_path / "out.txt"),
        **given, **ONCE,
    }  # fmt: skip
    function = {"transforms": "f", "transforms.f.type": "connect.transforms.PythonFunction$Value"}
    return {
        "source": {**source, "topic": f"{values}:topic}}"},
        "sink": sink,
        "fails": {**sink, **function, "transforms.f.function": "canary_functions:fails_thrice"},
        "rejects": {
            **source, **function, "topic": "unseen", "transforms.f.function": "canary_functions:fails_thrice",
            "errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{values}:letters}}",
            "errors.deadletterqueue.topic.replication.factor": "1", "errors.log.enable": "true",
            "errors.deadletterqueue.context.headers.enable": "true", "errors.log.include.messages": "true",
        },
    }  # fmt: skip


def test_what_a_provider_gave_is_shown_nowhere(worker, kafka, tmp_path):
    for name, config in connectors(tmp_path).items():
        answer = worker.call("POST", "/connectors", {"name": name, "config": config})
        assert answer.status_code == 201, answer.text
    eventually(worker.runs("source", 1))
    eventually(lambda: worker.states("fails")[1] == ["FAILED"])
    eventually(lambda: len(records(kafka, "canary3-s3cr3t")) == 2)
    eventually(lambda: (tmp_path / "out.txt").read_text() == "one\ntwo\n")
    for name in ("source", "sink"):
        eventually(lambda name=name: worker.get(f"/connectors/{name}/offsets")["offsets"])
        eventually(lambda name=name: worker.get(f"/connectors/{name}/topics")[name]["topics"])

    said = {}
    for name in connectors(tmp_path):
        for path in ("", "/config", "/tasks", "/tasks-config", "/status", "/tasks/0/status", "/history", "/offsets",
                     "/topics", "/why"):  # fmt: skip
            said[f"{name}{path}"] = worker.call("GET", f"/connectors/{name}{path}").text
        said[f"{name} planned"] = worker.call(
            "PUT", f"/connectors/{name}/config?dry_run=true", worker.get(f"/connectors/{name}/config")
        ).text
    for path in ("/connectors?expand=info&expand=status", "/metrics", "/health", "/admin/loggers"):
        said[path] = worker.call("GET", path).text
    said["letters"] = repr([letter.headers() for letter in messages(kafka, "canary3-s3cr3t")])
    said["log"] = worker.log.read_text()

    leaks = [
        f"{where}: …{text[max(0, found.start() - 80) : found.end()]}"
        for where, text in said.items()
        for found in CANARY.finditer(text)
    ]
    assert not leaks, "\n".join(leaks)
    # Every part of an error was said, but for what is secret.
    for word in ("innermost", "in between", "outermost", "a note", "of a group"):
        assert word in said["letters"]


def test_offsets_that_were_shown_without_what_a_provider_gave_can_be_written_back(worker, tmp_path):
    config = connectors(tmp_path)["source"]
    assert worker.call("POST", "/connectors", {"name": "source", "config": config}).status_code == 201
    shown = eventually(lambda: worker.get("/connectors/source/offsets")["offsets"])
    assert worker.call("PUT", "/connectors/source/stop").status_code == 204
    eventually(lambda: worker.states("source") == ("STOPPED", []))
    [one] = worker.get("/connectors/source/offsets")["offsets"]
    assert "[hidden]" in json.dumps(one["partition"]), shown
    body = {"offsets": [{"partition": one["partition"], "offset": {"position": 4}}]}
    assert worker.call("PATCH", "/connectors/source/offsets", body).status_code == 200
    assert worker.get("/connectors/source/offsets") == body
    unknown = {"offsets": [{"partition": {"filename": "/elsewhere/[hidden]"}, "offset": {"position": 4}}]}
    refused = worker.call("PATCH", "/connectors/source/offsets", unknown)
    assert (refused.status_code, "[hidden]" in refused.text) == (400, True), refused.text
