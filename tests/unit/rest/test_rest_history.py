"""Checks the history of a connector, and rolling back."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_cluster import Cluster, MemoryOperations
from rest_client import Rest, ServerMaker, refused
from sample_plugins import FILE_SOURCE, VAULT_SOURCE

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}


def test_versions_say_who_changed_what(rest: Rest) -> None:
    rest.create("a", x="1")
    rest("PUT", "/connectors/a/config", CONFIG | {"x": "2"}, headers={"User-Agent": "kcctl/1\t"})
    history = rest.get("/connectors/a/history")
    assert (history["name"], [c["version"] for c in history["configs"]]) == ("a", [1, 2])
    first, second = history["configs"]
    assert first["changes"] is None
    assert first["config"] == CONFIG | {"name": "a", "x": "1"}
    assert second["changes"] == {"added": {}, "changed": {"x": {"from": "1", "to": "2"}}, "removed": {}}
    assert (second["who"], second["changed_ms"]) == ("127.0.0.1 (kcctl/1)", 1_700_000_000_002)


def test_states_and_rebalances_are_told(rest: Rest) -> None:
    rest.create("a")
    history = rest.get("/connectors/a/history")
    here = {"worker_id": "127.0.0.1:8083"}
    assert history["states"] == [
        {"task": None, "state": "RUNNING", **here, "trace": None, "changed_ms": 1_700_000_000_000},
        {"task": 0, "state": "FAILED", **here, "trace": "Trace: boom", "changed_ms": 1_700_000_000_001},
    ]
    (rebalance,) = history["rebalances"]
    assert (rebalance["generation"], rebalance["workers"]) == (7, ["127.0.0.1:8083"])


def test_secrets_are_masked_in_every_version(rest: Rest) -> None:
    vault = {"connector.class": VAULT_SOURCE, "connection.url": "u"}
    for password in ("hunter2", "hunter3"):
        rest("PUT", "/connectors/v/config", vault | {"connection.password": password})
    answer = rest("GET", "/connectors/v/history")
    assert "hunter" not in answer.text
    changed = answer.json()["configs"][1]["changes"]["changed"]
    assert changed == {"connection.password": {"from": "[hidden]", "to": "[hidden]"}}


def test_a_rollback_stores_the_old_configuration_with_its_secrets_as_a_new_version(rest: Rest) -> None:
    vault = {"connector.class": VAULT_SOURCE, "connection.url": "u"}
    for password in ("hunter2", "hunter3"):
        rest("PUT", "/connectors/v/config", vault | {"connection.password": password})
    preview = rest("PUT", "/connectors/v/rollback/1?dry_run=true").json()
    assert list(preview["changes"]["changed"]) == ["connection.password"]
    assert rest.operations.cluster.configs["v"]["connection.password"] == "hunter3"

    answer = rest("PUT", "/connectors/v/rollback/1")

    assert (answer.status_code, answer.json()["config"]["connection.password"]) == (200, "[hidden]")
    assert rest.operations.cluster.configs["v"]["connection.password"] == "hunter2"
    assert [c["version"] for c in rest.get("/connectors/v/history")["configs"]] == [1, 2, 3]


def test_a_version_that_is_wrong_by_now_is_not_rolled_back_to(rest: Rest) -> None:
    rest.create("a", x="1")
    rest("PUT", "/connectors/a/config", CONFIG)
    rest.operations.problems = {"topic": ["is gone"]}
    assert "is gone" in refused(rest("PUT", "/connectors/a/rollback/1"), 400)
    assert "x" not in rest.get("/connectors/a/config")


def test_what_is_not_there(rest: Rest) -> None:
    refused(rest("GET", "/connectors/x/history"), 404, "Connector x not found")
    refused(rest("PUT", "/connectors/x/rollback/1"), 404, "Connector x not found")
    rest.create("a")
    text = "Connector a has no version 7. The versions kept are 1."
    refused(rest("PUT", "/connectors/a/rollback/7"), 404, text)


def test_who_stays_who_when_a_worker_sends_the_request_on(two: tuple[Rest, Rest]) -> None:
    _, follower = two
    follower("PUT", "/connectors/a/config", CONFIG, headers={"User-Agent": "kcctl/1"})
    assert follower.get("/connectors/a/history")["configs"][0]["who"] == "127.0.0.1 (kcctl/1)"


@pytest.mark.parametrize("query", ["", "?forward=true", "?forward=false"])
def test_nobody_says_who_he_is(two: tuple[Rest, Rest], query: str) -> None:
    leader, _ = two
    said = {"X-Forwarded-For": "10.9.8.7", "X-Connect-Forwarded-Signature": "0" * 64, "User-Agent": "x"}
    leader("PUT", f"/connectors/a/config{query}", CONFIG, headers=said)
    assert leader.get("/connectors/a/history")["configs"][0]["who"] == "127.0.0.1 (x)"


def test_who_is_the_user_that_logged_in_also_behind_a_follower(serve: ServerMaker, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("ada=lovelace\n")
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster), worker={"rest.basic.auth.file": str(users)})
    follower = serve(MemoryOperations(cluster, leads=False), worker={"rest.basic.auth.file": str(users)})
    cluster.leader_url = leader.url
    for number, rest in enumerate((leader, follower)):
        config = CONFIG | {"number": str(number)}
        rest("PUT", "/connectors/a/config", config, auth=("ada", "lovelace"), headers={"User-Agent": "x"})
    versions = leader("GET", "/connectors/a/history", auth=("ada", "lovelace")).json()["configs"]
    assert [version["who"] for version in versions] == ["ada at 127.0.0.1 (x)"] * 2
