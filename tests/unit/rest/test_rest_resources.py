"""Checks connectors, their configurations, states, tasks and topics; secrets; metrics."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from rest_client import Rest, ServerMaker, at, invalid, refused
from sample_plugins import (
    FILE_SINK,
    FILE_SOURCE,
    JSON,
    VAULT_SOURCE,
)

from connect.client.rest import Access, ConnectClient
from connect.client.task_lines import figures_of
from connect.kafka.client.errors import DeniedError

MISSING_TOPIC = 'Missing required configuration "topic" which has no default value.'


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
def test_create_refuses_a_body_without_a_valid_configuration(rest: Rest, body: dict[str, object], message: str) -> None:
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


def test_patch_stores_another_name_as_java_does_and_needs_one(rest: Rest) -> None:
    rest.create("a")
    answer = rest("PATCH", "/connectors/a/config", {"name": "b"})
    assert answer.status_code == 200
    assert (answer.json()["name"], answer.json()["config"]["name"]) == ("a", "b")
    assert rest.get("/connectors/a/config")["name"] == "b"
    assert rest.get("/connectors") == ["a"]
    refused(
        rest("PATCH", "/connectors/a/config", {"name": None}),
        400,
        invalid('Missing required configuration "name" which has no default value.'),
    )


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
def test_expand_adds_what_it_names_and_ignores_other_words(rest: Rest, query: str, members: set[str]) -> None:
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


def test_why_answers_for_the_connector_and_each_task(rest: Rest) -> None:
    rest("POST", "/connectors", {"name": "a", "config": {"connector.class": FILE_SOURCE, "topic": "t"}})
    told = {reason["about"]: reason["text"] for reason in rest.get("/connectors/a/why")}
    assert told["connector a"].startswith("RUNNING")
    assert told["task 0"].startswith("RUNNING")
    assert rest("GET", "/connectors/nobody/why").status_code == 404


def test_why_does_not_wait_for_offsets_that_kafka_does_not_tell(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    rest.create("a")
    monkeypatch.setattr("connect.rest.resources.why.OFFSETS_S", 0.1)
    denied: Future[Any] = Future()
    denied.set_exception(DeniedError("Failed listing the offsets of group connect-a: denied."))
    for reading, why in ((Future[Any](), "within"), (denied, "offsets of group connect-a: denied.")):
        monkeypatch.setattr(rest.operations.offsets, "read", lambda _, reading=reading: reading)
        told = {reason["about"]: reason["text"] for reason in rest.get("/connectors/a/why")}
        assert told["task 0"].startswith("RUNNING")
        assert told["offsets"].startswith("They are not known: ")
        assert why in told["offsets"]


def test_pause_resume_and_stop_change_the_state(rest: Rest) -> None:
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
def test_a_restart_takes_the_tasks_that_its_query_names(rest: Rest, query: str, code: int, asked: str) -> None:
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
def test_each_request_about_an_unknown_connector_is_a_404(rest: Rest, method: str, path: str, message: str) -> None:
    refused(rest(method, f"/connectors/x{path}"), 404, message)


def test_topics_in_use_are_listed_until_they_are_reset(rest: Rest) -> None:
    rest.operations.cluster.topics["a"] = ["t1", "t2"]
    assert rest.get("/connectors/a/topics") == {"a": {"topics": ["t1", "t2"]}}
    assert rest("PUT", "/connectors/a/topics/reset").status_code == 202
    assert rest.get("/connectors/a/topics") == {"a": {"topics": []}}


def test_topics_that_are_not_tracked(serve: ServerMaker) -> None:
    off = serve(worker={"topic.tracking.enable": "false"})
    refused(off("GET", "/connectors/a/topics"), 403, "Topic tracking is disabled.")
    kept = serve(worker={"topic.tracking.allow.reset": "false"})
    refused(kept("PUT", "/connectors/a/topics/reset"), 403, "Topic tracking reset is disabled.")


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
    rest = serve(worker={"rest.mask.secrets": "false"})
    given = {**VAULT, "connection.url": "http://u:hunter2@h/", "name": "v"}
    rest("POST", "/connectors", {"name": "v", "config": given})
    assert rest.get("/connectors/v/config") == given
    assert rest("PUT", "/connectors/v/config", {**given, "x.token": "[hidden]"}).status_code == 200
    assert rest.get("/connectors/v/config")["x.token"] == "[hidden]"


def test_a_url_is_masked_by_its_parts_and_restored_by_them(rest: Rest) -> None:
    given = {**VAULT, "connection.url": "jdbc:postgresql://h/d?user=u&password=hunter2&sslpassword=hunter3"}
    shown = "jdbc:postgresql://h/d?user=u&password=[hidden]&sslpassword=[hidden]"
    rest("POST", "/connectors", {"name": "v", "config": given})
    read = rest.get("/connectors/v/config")
    assert read["connection.url"] == shown
    moved = {**read, "connection.url": shown.replace("//h/", "//other/")}
    assert rest("PUT", "/connectors/v/config", moved).status_code == 200
    stored = rest.operations.cluster.configs["v"]["connection.url"]
    assert stored == given["connection.url"].replace("//h/", "//other/")
    found = rest("PUT", f"/connector-plugins/{VAULT_SOURCE}/config/validate", read).json()["configs"]
    assert {c["value"]["name"]: c["value"]["value"] for c in found}["connection.url"] == shown
    more = {**read, "connection.url": f"{shown}&access_token=[hidden]"}
    assert "it stands for a stored value" in refused(rest("PUT", "/connectors/v/config", more), 400)


def test_the_commands_read_the_metrics(rest: Rest) -> None:
    rest.create("a-b", **{"tasks.max": "2"})
    found = figures_of(ConnectClient(Access(rest.url)).metrics())
    assert found["a-b", "1"]["rows_total"] == 3.0
    assert set(found) == {("a-b", "0"), ("a-b", "1")}


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
