"""Connectors, their configurations, states, tasks, topics; plug-ins and validation."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Rest, ServerMaker, at, refused
from sample_plugins import (
    FILE_SINK,
    FILE_SOURCE,
    FILTER,
    HANGING_SOURCE,
    HOIST,
    JSON,
    SIMPLE_HEADER,
    TOPIC_MATCHES,
    VAULT_SOURCE,
    HangingSourceConfig,
)

from connect.api.errors import ConnectError

MISSING_TOPIC = 'Missing required configuration "topic" which has no default value.'


def invalid(*errors: str) -> str:
    return (
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n"
        + "\n".join(errors)
        + "\nYou can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def test_create_answers_with_the_connector_and_its_place(rest: Rest) -> None:
    config = {"connector.class": FILE_SOURCE, "topic": "t"}
    answer = rest("POST", "/connectors", {"name": " a é ", "config": config})
    assert answer.status_code == 201
    assert answer.json() == {"name": "a é", "config": {**config, "name": "a é"}, "tasks": [], "type": "source"}
    assert answer.headers["Location"] == f"{rest.url}/connectors/a%20%C3%A9"
    assert rest.get(at("a é"))["tasks"] == [{"connector": "a é", "task": 0}]


def test_create_keeps_texts_and_turns_scalars_into_texts(rest: Rest) -> None:
    body = (
        '{"name":"a","config":{"connector.class":"FileStreamSource","topic":"t","tasks.max":1,"b":true,"d":1.50,'
        '"big":12345678901234567890,"z":-0.0,"e":1E3,"s":"\\u00e9\\" \\n","empty":""}}'
    )
    assert rest("POST", "/connectors", data=body).status_code == 201
    stored = rest.get("/connectors/a/config")
    assert {k: stored[k] for k in ("tasks.max", "b", "d", "big", "z", "e", "s", "empty")} == {
        "tasks.max": "1", "b": "true", "d": "1.50", "big": "12345678901234567890", "z": "-0.0", "e": "1E3",
        "s": 'é" \n', "empty": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": "n", "config": {"connector.class": FILE_SOURCE}}, invalid(MISSING_TOPIC)),
        (
            {"config": {"connector.class": FILE_SOURCE, "topic": "t"}},
            invalid("Invalid value  for configuration name: String may not be empty"),
        ),
        (
            {"name": "a", "config": {"connector.class": "nope", "name": "b"}},
            "Connector name configuration (b) doesn't match connector name in the URL (a)",
        ),
        ({"name": "n", "config": {}}, "Connector config {name=n} contains no connector type"),
        (
            {"name": "n", "config": {"connector.class": FILE_SOURCE, "topic": "t", "x": None}},
            invalid("Null value can not be supplied as the configuration value."),
        ),
    ],
)
def test_create_refuses(rest: Rest, body: dict[str, object], message: str) -> None:
    refused(rest("POST", "/connectors", body), 400, message)
    assert rest.get("/connectors") == []


def test_create_refuses_an_unknown_class(rest: Rest) -> None:
    answer = rest("POST", "/connectors", {"name": "n", "config": {"connector.class": JSON}})
    text = refused(answer, 400)
    assert f"which name matches {JSON}, available connectors are: " in text
    assert FILE_SINK in text


def test_create_twice_is_a_conflict_found_after_validation(rest: Rest) -> None:
    rest.create("a")
    config = {"connector.class": FILE_SOURCE, "topic": "t"}
    refused(rest("POST", "/connectors", {"name": "a", "config": config}), 409, "Connector a already exists")
    answer = rest("POST", "/connectors", {"name": "a", "config": {"connector.class": FILE_SOURCE}})
    refused(answer, 400, invalid(MISSING_TOPIC))


@pytest.mark.parametrize(("state", "shown"), [("STOPPED", "STOPPED"), ("paused", "PAUSED"), ("Running", "RUNNING")])
def test_create_in_a_state(rest: Rest, state: str, shown: str) -> None:
    rest.create("a", state)
    assert rest.get("/connectors/a/status")["connector"]["state"] == shown


def test_put_creates_then_replaces(rest: Rest) -> None:
    config = {"connector.class": FILE_SOURCE, "topic": "t", "x": "1"}
    created = rest("PUT", "/connectors/a/config", config)
    assert (created.status_code, created.headers["Location"]) == (201, f"{rest.url}/connectors/a")
    del config["x"]
    updated = rest("PUT", "/connectors/a/config", config)
    assert (updated.status_code, "Location" in updated.headers) == (200, False)
    assert rest.get("/connectors/a/config") == {**config, "name": "a"}
    refused(
        rest("PUT", "/connectors/a/config", {**config, "name": "b"}),
        400,
        "Connector name configuration (b) doesn't match connector name in the URL (a)",
    )


def test_patch_merges_and_removes(rest: Rest) -> None:
    rest.create("a", x="1", y="2")
    answer = rest("PATCH", "/connectors/a/config", {"x": None, "y": "3", "absent": None})
    assert answer.status_code == 200
    assert answer.json()["config"] == {"connector.class": FILE_SOURCE, "name": "a", "topic": "t", "y": "3"}
    refused(rest("PATCH", "/connectors/a/config", {"topic": None}), 400, invalid(MISSING_TOPIC))
    refused(rest("PATCH", "/connectors/none/config", {}), 404, "Connector none not found")
    refused(rest("PATCH", "/connectors/none/config", data="null"), 404, "Connector none not found")
    refused(rest("PATCH", "/connectors/a/config", data="null"), 500)


def test_concurrent_patches_lose_nothing(rest: Rest) -> None:
    rest.create("a")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: rest("PATCH", "/connectors/a/config", {f"k{n}": str(n)}), range(16)))
    assert {answer.status_code for answer in answers} == {200}
    stored = rest.get("/connectors/a/config")
    assert {f"k{n}" for n in range(16)} <= set(stored)


@pytest.mark.parametrize(
    ("query", "members"),
    [("expand=info", {"info"}), ("expand=status", {"status"}), ("expand=info&expand=status", {"info", "status"}),
     ("expand=foo", set()), ("expand=INFO", set()), ("expand=info&expand=foo", {"info"})],
)  # fmt: skip
def test_expand(rest: Rest, query: str, members: set[str]) -> None:
    rest.create("a")
    found = rest.get(f"/connectors?{query}")
    assert set(found["a"]) == members
    if "info" in members:
        assert found["a"]["info"] == rest.get("/connectors/a")
    if "status" in members:
        assert found["a"]["status"] == rest.get("/connectors/a/status")


def test_status_has_connects_members(rest: Rest) -> None:
    rest.create("a", **{"tasks.max": "2"})
    assert rest.get("/connectors/a/status") == {
        "name": "a",
        "connector": {"state": "RUNNING", "worker_id": "127.0.0.1:8083", "version": "4.1.0"},
        "tasks": [{"id": n, "state": "RUNNING", "worker_id": "127.0.0.1:8083", "version": "4.1.0"} for n in (0, 1)],
        "type": "source",
    }
    assert rest.get("/connectors/a/tasks")[1]["id"] == {"connector": "a", "task": 1}
    assert rest.get("/connectors/a/tasks")[1]["config"]["task.class"] == "Task"


def test_pause_resume_stop(rest: Rest) -> None:
    rest.create("a")
    for change, code, state in (("pause", 202, "PAUSED"), ("resume", 202, "RUNNING"), ("stop", 204, "STOPPED")):
        answer = rest("PUT", f"/connectors/a/{change}")
        assert (answer.status_code, answer.content) == (code, b"")
        assert rest.get("/connectors/a/status")["connector"]["state"] == state


@pytest.mark.parametrize(
    ("query", "code", "asked"),
    [("", 204, "a"), ("?includeTasks=yes", 204, "a"), ("?includeTasks=True", 202, "a tasks=True failed=False"),
     ("?onlyFailed=true", 202, "a tasks=False failed=True")],
)  # fmt: skip
def test_restart(rest: Rest, query: str, code: int, asked: str) -> None:
    rest.create("a")
    answer = rest("POST", f"/connectors/a/restart{query}")
    assert answer.status_code == code
    assert rest.operations.cluster.restarts == [asked]
    if code == 202:
        assert answer.json()["name"] == "a"


def test_restart_of_a_task(rest: Rest) -> None:
    rest.create("a")
    assert rest("POST", "/connectors/a/tasks/0/restart").status_code == 204
    refused(rest("POST", "/connectors/a/tasks/9/restart"), 404, "Unknown task: a-9")


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [("GET", "", "Connector x not found"), ("GET", "/config", "Connector x not found"),
     ("GET", "/tasks", "Connector x not found"),
     ("GET", "/status", "No status found for connector x"), ("GET", "/tasks/0/status", "No status found for task x-0"),
     ("GET", "/tasks/-1/status", "No status found for task x--1"), ("DELETE", "", "Connector x not found"),
     ("PUT", "/pause", "Unknown connector x"), ("PUT", "/stop", "Unknown connector x"),
     ("POST", "/restart", "Unknown connector: x"), ("POST", "/restart?includeTasks=true", "Unknown connector: x"),
     ("POST", "/tasks/0/restart", "Unknown connector: x")],
)  # fmt: skip
def test_unknown_connectors(rest: Rest, method: str, path: str, message: str) -> None:
    refused(rest(method, f"/connectors/x{path}"), 404, message)


def test_topics(rest: Rest) -> None:
    rest.operations.cluster.topics["a"] = ["t1", "t2"]
    assert rest.get("/connectors/a/topics") == {"a": {"topics": ["t1", "t2"]}}
    assert rest("PUT", "/connectors/a/topics/reset").status_code == 202
    assert rest.get("/connectors/a/topics") == {"a": {"topics": []}}


def test_topics_that_are_not_tracked(serve: ServerMaker) -> None:
    off = serve(worker={"topic.tracking.enable": "false"})
    refused(off("GET", "/connectors/a/topics"), 403, "Topic tracking is disabled.")
    kept = serve(worker={"topic.tracking.allow.reset": "false"})
    refused(kept("PUT", "/connectors/a/topics/reset"), 403, "Topic tracking reset is disabled.")


def test_plugins_are_listed_by_kind_and_name(rest: Rest) -> None:
    connectors = rest.get("/connector-plugins")
    assert connectors == [
        {"class": FILE_SINK, "type": "sink", "version": "4.1.0"},
        {"class": HANGING_SOURCE, "type": "source", "version": "4.1.0"},
        {"class": VAULT_SOURCE, "type": "source", "version": "1.2"},
        {"class": FILE_SOURCE, "type": "source", "version": "4.1.0"},
    ]
    everything = rest.get("/connector-plugins?connectorsOnly=false")
    kinds = ["sink", "source", "transformation", "predicate", "converter", "header_converter"]
    assert list(dict.fromkeys(p["type"] for p in everything)) == kinds
    assert {"class": SIMPLE_HEADER, "type": "header_converter", "version": "4.1.0"} in everything


def test_broken_plugins_are_listed_with_their_errors(rest: Rest) -> None:
    assert rest.get("/connector-plugins-broken") == [{"name": "bad", "value": "bad.module", "error": "ImportError: x"}]


@pytest.mark.parametrize("name", [FILE_SOURCE, "FileStreamSource", "FileStreamSourceConnector"])
def test_the_keys_of_a_plugin(rest: Rest, name: str) -> None:
    keys = rest.get(f"/connector-plugins/{name}/config")
    assert [k["name"] for k in keys[:4]] == ["file", "topic", "batch.size", "name"]
    assert list(keys[0]) == [
        "name", "type", "required", "default_value", "importance", "documentation", "group", "width", "display_name",
        "dependents", "order",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "keys"), [(HOIST, ["field"]), (FILTER, []), (TOPIC_MATCHES, ["pattern"])])
def test_the_keys_of_a_transform(rest: Rest, name: str, keys: list[str]) -> None:
    assert [k["name"] for k in rest.get(f"/connector-plugins/{name}/config")] == keys


def test_the_keys_of_one_version(rest: Rest) -> None:
    path = f"/connector-plugins/{VAULT_SOURCE}/config"
    assert rest.get(f"{path}?version=1.2") == rest.get(path)
    text = f"Plugin {VAULT_SOURCE} not found that matches the version range [9,9], available versions: [1.2]"
    refused(rest("GET", f"{path}?version=9"), 400, text)
    refused(rest("GET", "/connector-plugins/HoistField/config"), 404, "Unknown plugin HoistField.")


@pytest.mark.parametrize("name", ["org.apache.kafka.common.config.provider.FileConfigProvider", "FileConfigProvider"])
def test_what_is_no_plugin_of_a_connector_has_no_keys_here(rest: Rest, name: str) -> None:
    text = (
        "Invalid plugin type config_provider. Valid types are sink, source, converter, header_converter, "
        "transformation, predicate."
    )
    refused(rest("GET", f"/connector-plugins/{name}/config"), 400, text)


def test_validate_answers_200_to_what_is_wrong(rest: Rest) -> None:
    answer = rest("PUT", "/connector-plugins/FileStreamSource/config/validate", {"connector.class": FILE_SOURCE})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["name"], body["error_count"]) == (FILE_SOURCE, 2)
    assert {c["value"]["name"] for c in body["configs"] if c["value"]["errors"]} == {"name", "topic"}
    assert rest.get("/connectors") == []


@pytest.mark.parametrize(
    ("plugin", "cls", "same"),
    [("FileStreamSource", "FileStreamSource", True), ("FileStreamSource", FILE_SOURCE, True),
     ("FileStreamSourceConnector", FILE_SOURCE, True), (FILE_SOURCE, FILE_SOURCE, True),
     (FILE_SOURCE, "FileStreamSource", False), (FILE_SOURCE, FILE_SINK, False), ("nope", FILE_SOURCE, False)],
)  # fmt: skip
def test_validate_wants_the_same_class_in_path_and_body(rest: Rest, plugin: str, cls: str, same: bool) -> None:
    answer = rest(
        "PUT", f"/connector-plugins/{plugin}/config/validate", {"connector.class": cls, "name": "k", "topic": "t"}
    )
    if same:
        assert answer.json()["error_count"] == 0
    else:
        refused(answer, 400, f"Included connector type {cls} does not match request type {plugin}")


def test_validate_without_a_class_is_a_500_as_in_connect_4(rest: Rest) -> None:
    wrapped = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "
    assert refused(rest("PUT", "/connector-plugins/x/config/validate", {}), 500) == (
        f"{wrapped}Connector config {{}} contains no connector type"
    )
    unknown = refused(rest("PUT", "/connector-plugins/nope/config/validate", {"connector.class": "nope"}), 500)
    assert unknown.startswith(
        f"{wrapped}Failed to find any class that implements Connector and which name matches nope"
    )


def test_the_connectors_own_check_adds_to_the_validation(rest: Rest) -> None:
    rest.operations.problems = {"topic": ["The broker refuses it."], "elsewhere": ["Odd."], "file": []}
    body = {"name": "n", "config": {"connector.class": FILE_SOURCE, "topic": "t"}}
    refused(rest("POST", "/connectors", body), 400, invalid("The broker refuses it.", "Odd."))
    assert rest.operations.checked == [{"connector.class": FILE_SOURCE, "topic": "t", "name": "n"}]


def test_a_configuration_with_errors_is_not_tried(rest: Rest) -> None:
    rest("POST", "/connectors", {"name": "n", "config": {"connector.class": FILE_SOURCE}})
    assert rest.operations.checked == []


def test_a_check_that_hangs_is_an_error_of_the_class(serve: ServerMaker) -> None:
    rest = serve(check_timeout_s=0.05)
    rest.operations.check_is_stuck = True
    answer = rest("PUT", "/connectors/n/config", {"connector.class": FILE_SOURCE, "topic": "t"})
    assert "own check of its configuration (reach, credentials, rights) did not end in" in refused(answer, 400)


def test_a_check_that_cannot_be_run_is_an_error_of_the_class(rest: Rest) -> None:
    rest.operations.check_error = ConnectError("The driver is missing.", fix="Install it.")
    found = rest("PUT", "/connector-plugins/FileStreamSource/config/validate",
                 {"connector.class": "FileStreamSource", "name": "n", "topic": "t"})  # fmt: skip
    errors = {c["value"]["name"]: c["value"]["errors"] for c in found.json()["configs"] if c["value"]["errors"]}
    assert list(errors) == ["connector.class"]
    assert errors["connector.class"][0].endswith("could not be run: The driver is missing. Install it.")


def test_a_plugin_that_hangs_in_validation_holds_up_nobody_else(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.request.timeout.ms": "1500"})
    HangingSourceConfig.entered.clear()
    HangingSourceConfig.released.clear()
    try:
        with ThreadPoolExecutor(40) as pool:
            hanging = [pool.submit(rest, "PUT", f"/connectors/h{n}/config", {"connector.class": HANGING_SOURCE})
                       for n in range(40)]  # fmt: skip
            assert HangingSourceConfig.entered.wait(10)
            rest.create("a")
            assert rest.get("/connectors") == ["a"]
            answers = {refused(one.result(), 500).partition(", which began")[0] for one in hanging}
            assert answers == {"Request timed out. The worker is currently validating the configuration"}
    finally:
        HangingSourceConfig.released.set()


def test_what_a_provider_gives_is_validated_and_never_shown(serve: ServerMaker) -> None:
    def resolve(config: Mapping[str, str]) -> Mapping[str, str]:
        return {k: "hunter2" if v == "${file:/s:pw}" else v for k, v in config.items()}

    rest = serve(worker={"config.providers": "file"}, resolve=resolve)
    config = {"connector.class": FILE_SOURCE, "topic": "${file:/s:pw}"}
    assert rest("POST", "/connectors", {"name": "n", "config": config}).json()["config"] == {**config, "name": "n"}
    assert rest.operations.checked == [{**config, "name": "n"}]
    text = refused(rest("PATCH", "/connectors/n/config", {"batch.size": "${file:/s:pw}"}), 400)
    assert "Invalid value for configuration 'batch.size': the value resolved from the config provider" in text
    assert "hunter2" not in text + rest("GET", "/connectors?expand=info").text


VAULT = {"connector.class": VAULT_SOURCE, "connection.url": "u", "connection.password": "hunter2", "x.token": "hunter2"}


def test_secrets_are_masked_in_every_answer(rest: Rest) -> None:
    created = rest("POST", "/connectors", {"name": "v", "config": VAULT})
    bodies = [created.text] + [
        rest("GET", path).text
        for path in ("/connectors/v", "/connectors/v/config", "/connectors/v/tasks", "/connectors?expand=info")
    ]
    assert created.status_code == 201
    assert all("hunter2" not in body for body in bodies)
    assert rest.get("/connectors/v/config") == {
        **VAULT, "connection.password": "[hidden]", "x.token": "[hidden]", "name": "v",
    }  # fmt: skip


def test_a_mask_that_comes_back_stands_for_the_stored_secret(rest: Rest) -> None:
    rest("POST", "/connectors", {"name": "v", "config": VAULT})
    read = rest.get("/connectors/v/config")
    assert rest("PUT", "/connectors/v/config", {**read, "connection.url": "w"}).status_code == 200
    stored = rest.operations.cluster.configs["v"]
    assert (stored["connection.url"], stored["connection.password"], stored["x.token"]) == ("w", "hunter2", "hunter2")
    assert rest("PATCH", "/connectors/v/config", {"connection.password": "[hidden]"}).status_code == 200
    assert rest.operations.cluster.configs["v"]["connection.password"] == "hunter2"
    assert rest.operations.checked[-1]["connection.password"] == "hunter2"


def test_a_mask_with_nothing_behind_it_is_an_error(rest: Rest) -> None:
    body = {"name": "v", "config": VAULT | {"connection.password": "[hidden]"}}
    text = refused(rest("POST", "/connectors", body), 400)
    assert "Invalid value [hidden] for configuration connection.password: it stands for a stored value" in text


def test_inline_secrets_are_shown_when_the_worker_says_so(serve: ServerMaker) -> None:
    rest = serve(mask_secrets=False)
    rest("POST", "/connectors", {"name": "v", "config": VAULT})
    assert rest.get("/connectors/v/config")["connection.password"] == "hunter2"


def test_metrics_in_the_text_format(rest: Rest) -> None:
    rest.create("a-b", **{"tasks.max": "2"})
    answer = rest("GET", "/metrics", headers={"Accept": "text/plain;version=0.0.4"})
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'kafka_connect_task_rows_total{connector="a-b",task="1"} 3.0' in lines
    assert 'kafka_connect_task_put_seconds_total{connector="a-b",task="0"} 0.5' in lines
    assert 'kafka_connect_task_lag_rows{connector="a-b",task="0"} 7.0' in lines
    assert any(line.startswith('kafka_connect_task_gauge{connector="a-b",name="own_gauge",task="0"}') for line in lines)
    assert "# TYPE kafka_connect_task_rows_total counter" in lines
    assert "kafka_connect_worker_connector_count 0.0" in lines  # it runs on the worker that its status names
    assert any(line.startswith("process_resident_memory_bytes ") for line in lines)
