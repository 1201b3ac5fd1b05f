"""`?dry_run=true`."""

from __future__ import annotations

from rest_client import Rest, refused
from sample_plugins import FILE_SOURCE, VAULT_SOURCE

from connect.cluster.operations import RequestError

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}


def test_a_new_connector_is_previewed_and_not_stored(rest: Rest) -> None:
    answer = rest("POST", "/connectors?dry_run=true", {"name": "a", "config": CONFIG})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["name"], body["error_count"]) == (FILE_SOURCE, 0)
    assert body["changes"] == {"added": {**CONFIG, "name": "a"}, "changed": {}, "removed": {}}
    assert rest.get("/connectors") == []


def test_changes_are_by_key(rest: Rest) -> None:
    rest.create("a", x="1", y="2")
    body = rest("PUT", "/connectors/a/config?dry_run=true", CONFIG | {"x": "3", "z": "4"}).json()
    assert body["changes"] == {"added": {"z": "4"}, "changed": {"x": {"from": "1", "to": "3"}}, "removed": {"y": "2"}}
    patched = rest("PATCH", "/connectors/a/config?dry_run=True", {"y": None}).json()
    assert patched["changes"] == {"added": {}, "changed": {}, "removed": {"y": "2"}}
    assert rest.get("/connectors/a/config")["x"] == "1"


def test_errors_are_answered_with_200(rest: Rest) -> None:
    answer = rest("PUT", "/connectors/a/config?dry_run=true", {"connector.class": FILE_SOURCE})
    assert (answer.status_code, answer.json()["error_count"]) == (200, 1)


def test_a_taken_name_is_a_conflict(rest: Rest) -> None:
    rest.create("a")
    answer = rest("POST", "/connectors?dry_run=true", {"name": "a", "config": CONFIG})
    refused(answer, 409, "Connector a already exists")


def test_a_changed_secret_shows_neither_value(rest: Rest) -> None:
    vault = {"connector.class": VAULT_SOURCE, "connection.url": "u", "connection.password": "hunter2"}
    rest("PUT", "/connectors/v/config", vault)
    answer = rest("PUT", "/connectors/v/config?dry_run=true", vault | {"connection.password": "hunter3"})
    assert answer.json()["changes"]["changed"] == {"connection.password": {"from": "[hidden]", "to": "[hidden]"}}
    assert "hunter" not in answer.text
    kept = rest("PUT", "/connectors/v/config?dry_run=true", rest.get("/connectors/v/config"))
    assert kept.json()["changes"] == {"added": {}, "changed": {}, "removed": {}}


def test_the_plan_of_a_right_configuration_is_shown_and_secrets_in_tasks_are_masked(rest: Rest) -> None:
    body = rest("POST", "/connectors?dry_run=true", {"name": "a", "config": CONFIG | {"tasks.max": "2"}}).json()
    assert [task["task.id"] for task in body["tasks"]] == ["0", "1"]
    assert (body["new_topics"], body["plan_error"]) == (["t"], None)
    vault = {"connector.class": VAULT_SOURCE, "connection.url": "u", "connection.password": "hunter2"}
    answer = rest("PUT", "/connectors/v/config?dry_run=true", vault)
    assert answer.json()["tasks"][0]["connection.password"] == "[hidden]"
    assert "hunter" not in answer.text


def test_a_plan_that_fails_is_said_and_a_wrong_configuration_is_not_planned(rest: Rest) -> None:
    rest.operations.plan_error = RequestError(400, "no tables")
    body = rest("POST", "/connectors?dry_run=true", {"name": "a", "config": CONFIG}).json()
    assert (body["tasks"], body["new_topics"], body["plan_error"]) == (None, None, "no tables")
    wrong = rest("PUT", "/connectors/a/config?dry_run=true", {"connector.class": FILE_SOURCE}).json()
    assert (wrong["tasks"], wrong["plan_error"]) == (None, None)
