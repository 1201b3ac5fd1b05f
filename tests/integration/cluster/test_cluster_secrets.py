"""Checks that values of config providers are looked up in task hosts alone, whatever a worker is asked."""

import json

import pytest
from cluster_worker import eventually

VALUES = {"tasks": "2", "pause": "15", "word": "hunter2-not-a-number", "group": "a-group-of-its-own"}


@pytest.fixture
def visitors(tmp_path):
    return tmp_path / "visitors"


@pytest.fixture
def worker(start_worker, tmp_path, visitors):
    file = tmp_path / "values.json"
    file.write_text(json.dumps(VALUES))
    prefix = "config.providers.vault"
    return start_worker(
        **{
            "config.providers": "vault",
            f"{prefix}.class": "test.VaultConfigProvider",
            f"{prefix}.param.file": str(file),
            f"{prefix}.param.visitors": str(visitors),
        }
    ).ready()


def errors(answer):
    assert answer.status_code == 200, answer.text
    return {c["value"]["name"]: c["value"]["errors"] for c in answer.json()["configs"] if c["value"]["errors"]}


def values(answer):
    return {c["value"]["name"]: c["value"]["value"] for c in answer.json()["configs"]}


def test_no_secret_is_ever_in_the_worker(worker, visitors, tmp_path):
    config = {
        "connector.class": "CounterSource", "name": "c", "topic": "secret-numbers", "tasks.max": "${vault:tasks}",
        "pause.ms": "${vault:pause}",
    }  # fmt: skip

    def validate(**more):
        return worker.call("PUT", "/connector-plugins/CounterSource/config/validate", {**config, **more})

    right = validate()
    assert errors(right) == {}
    assert values(right)["pause.ms"] == "${vault:pause}"
    wrong = validate(**{"tasks.max": "${vault:word}", "pause.ms": "${vault:locked:pause}", "unknown": None})
    assert errors(wrong) == {
        "pause.ms": [
            "Invalid value ${vault:locked:pause} for configuration pause.ms: Not a number of type INT",
            "Configuration pause.ms: The vault is locked.",
        ],
        "tasks.max": [
            "Invalid value ${vault:word} for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ],
        "unknown": ["Null value can not be supplied as the configuration value."],
    }
    half = validate(**{"tasks.max": "${vault:word}"})
    provided = "the value resolved from the config provider reference failed validation"
    assert errors(half) == {"tasks.max": [f"Invalid value for configuration 'tasks.max': {provided}"]}
    override = validate(**{"producer.override.linger.ms": "${vault:word}"})
    assert override.status_code == 500
    assert override.json()["message"] == "Invalid value [hidden] for configuration linger.ms: Not a number of type LONG"

    planned = worker.call("POST", "/connectors?dry_run=true", {"name": "c", "config": config}).json()
    assert (len(planned["tasks"]), planned["plan_error"]) == (2, None)
    assert {task["pause.ms"] for task in planned["tasks"]} == {"${vault:pause}"}
    assert worker.call("POST", "/connectors", {"name": "c", "config": config}).status_code == 201
    eventually(worker.runs("c", 2))

    file = tmp_path / "lines.txt"
    sink = {
        "connector.class": "FileStreamSink", "topics": "secret-numbers", "file": str(file), "tasks.max": "1",
        "consumer.override.group.id": "${vault:group}",
    }  # fmt: skip
    assert worker.call("POST", "/connectors", {"name": "s", "config": sink}).status_code == 201
    eventually(lambda: worker.get("/connectors/s/offsets")["offsets"])
    assert worker.call("PUT", "/connectors/s/stop").status_code == 204
    one = {"kafka_topic": "secret-numbers", "kafka_partition": 0}
    altered = {"offsets": [{"partition": one, "offset": {"kafka_offset": 1}}]}
    eventually(lambda: worker.call("PATCH", "/connectors/s/offsets", altered).status_code == 200)
    assert {"partition": one, "offset": {"kafka_offset": 1}} in worker.get("/connectors/s/offsets")["offsets"]
    assert worker.call("DELETE", "/connectors/s/offsets").status_code == 200
    assert worker.get("/connectors/s/offsets") == {"offsets": []}

    seen = {int(pid) for pid in visitors.read_text().split()}
    assert worker.pid not in seen
    assert seen & {host.pid for host in worker.hosts()}
    said = worker.log.read_text() + "".join(answer.text for answer in (right, wrong, half, override))
    assert VALUES["word"] not in said


def test_a_task_whose_secret_is_gone_is_told_not_to_have_started(worker, tmp_path):
    worker.create("c", **{"tasks.max": "1", "pause.ms": "${vault:pause}", "auto.restart.enabled": "false"})
    eventually(worker.runs("c", 1))
    file = tmp_path / "values.json"
    file.rename(tmp_path / "hidden.json")
    refused = worker.call("POST", "/connectors/c/tasks/0/restart")
    assert (refused.status_code, refused.json()) == (500, {"error_code": 500, "message": "Failed to start task: c-0"})
    eventually(lambda: worker.states("c") == ("RUNNING", ["FAILED"]))
    (tmp_path / "hidden.json").rename(file)
    assert worker.call("POST", "/connectors/c/tasks/0/restart").status_code == 204
    eventually(worker.runs("c", 1))
