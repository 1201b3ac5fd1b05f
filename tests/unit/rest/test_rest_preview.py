"""Checks requests with `?dry_run=true`: they show what a change would do, and store nothing."""

from __future__ import annotations

import pytest
from rest_client import Rest, refused
from sample_plugins import FILE_SOURCE, VAULT_SOURCE

from connect.cluster.model.request_errors import BadRequestError

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


@pytest.mark.parametrize(
    "query", ["dry_run=1", "dry_run=yes", "dry_run", "dryRun=true", "dry-run=true", "DRY_RUN=true"]
)
def test_a_dry_run_that_is_not_spelt_right_changes_nothing(rest: Rest, query: str) -> None:
    answer = rest("POST", f"/connectors?{query}", {"name": "a", "config": CONFIG})
    assert refused(answer, 400).startswith("Write dry_run=true or dry_run=false instead of ")
    assert rest.get("/connectors") == []


@pytest.mark.parametrize(
    ("method", "path", "flag"),
    [
        ("DELETE", "/connectors/a?dry_run=true", "dry_run"),
        ("PUT", "/connectors/a/pause?dry_run=true", "dry_run"),
        ("DELETE", "/connectors/a/offsets?dry_run=true", "dry_run"),
        ("PUT", "/connectors/a/stop?reset_offsets=true", "reset_offsets"),
    ],
)
def test_a_flag_where_it_has_no_meaning_changes_nothing(rest: Rest, method: str, path: str, flag: str) -> None:
    rest.create("a")
    refused(rest(method, path), 400, f"{method} of this path has no {flag}. Nothing was done.")
    assert rest.get("/connectors/a/status")["connector"]["state"] == "RUNNING"


def test_offsets_are_not_kept_by_a_flag_that_is_not_spelt_right(rest: Rest) -> None:
    rest.create("a")
    refused(rest("DELETE", "/connectors/a?reset_offsets=1"), 400)
    assert rest.get("/connectors") == ["a"]
    assert rest("DELETE", "/connectors/a?reset_offsets=false").status_code == 204


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
    rest.operations.plan_error = BadRequestError("no tables")
    body = rest("POST", "/connectors?dry_run=true", {"name": "a", "config": CONFIG}).json()
    assert (body["tasks"], body["new_topics"], body["plan_error"]) == (None, None, "no tables")
    wrong = rest("PUT", "/connectors/a/config?dry_run=true", {"connector.class": FILE_SOURCE}).json()
    assert (wrong["tasks"], wrong["plan_error"]) == (None, None)
