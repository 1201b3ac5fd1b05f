"""Checks who may do what: each route with each role, lists that show what one may view, and how the worker's file says
it.
"""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from memory_cluster import Cluster, MemoryOperations
from rest_client import FILE_SOURCE, Rest, ServerMaker, refused
from sample_plugins import catalog, worker_config

from connect.api.errors import ConfigError
from connect.cluster.model.statuses import OverdueTask
from connect.doctor.gathering import gather
from connect.doctor.model.facts import Facts, SealingFacts
from connect.rest.access.role import Role
from connect.rest.app import ROUTES, admin_app, rest_app
from connect.rest.figures import answer_cache, peers
from connect.rest.openapi import openapi_route
from connect.rest.resources import backfills
from connect.rest.server.authentication import Login
from connect.rest.server.context import RestContext
from connect.rest.server.routing import Route
from connect.rest.ui import site
from connect.runtime.task.task_id import TaskId

ROOT = Path(__file__).parents[3]
ALL_ROUTES = (*ROUTES, openapi_route(ROUTES), *site.ROUTES, *peers.ROUTES)
ROW = re.compile(r"^\| `(\w+) (\S+)` \| (\w+) \|$", re.MULTILINE)
NAMES = ["anyone", "viewer", "operator", "editor", "admin"]
PASSWORD = "s3cret"
DENIED = "it takes the role"
CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}


@pytest.fixture
def guarded(tmp_path: Path) -> dict[str, str]:
    """A worker's keys: `viewer` to `admin` have a role at orders-*, `other-viewer` ... at payments-*, `root` at all."""
    file = tmp_path / "users"
    users = ["root", "anyone", *NAMES[1:], *(f"other-{name}" for name in NAMES[1:])]
    file.write_text("".join(f"{user}={PASSWORD}\n" for user in users))
    roles = {f"rest.roles.{name}": f"{name} on orders-*, other-{name} on payments-*" for name in NAMES[1:]}
    roles["rest.roles.admin"] += ", root"
    return {"rest.basic.auth.file": str(file), **roles}


def ask(rest: Rest, user: str, method: str, path: str, body: Any = ..., **more: Any) -> Any:
    return rest(method, path, body, auth=(user, PASSWORD), **more)


def test_the_documented_table_is_that_of_the_routes() -> None:
    text = (ROOT / "docs/design/who-may-use-rest.md").read_text(encoding="utf-8")
    documented = {(method, path): role for method, path, role in ROW.findall(text)}
    assert documented == {(one.method, one.path): one.least_role.name.lower() for one in ALL_ROUTES}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_route_that_changes_something_names_its_role(method: str) -> None:
    async def answer(_: Any) -> Any:
        raise AssertionError

    with pytest.raises(ValueError, match=f"{method} /new changes something, but names no least role"):
        Route(method, "/new", answer)
    assert Route("GET", "/new", answer).least_role is Role.VIEWER


def is_denied(rest: Rest, user: str, route: Route) -> bool:
    """Ask for the route about orders-1. HEAD where it is a stream without an end."""
    path = re.sub(r"\{(?!name)\w+\}", "0", route.path.replace("{name}", "orders-1"))
    query = {"name": "orders-1"} if path.startswith("/ui") else {}
    method = "HEAD" if path.startswith("/ui/live") else route.method
    headers = {} if route.method == "GET" else {"Content-Type": route.consumes}
    answer = ask(
        rest, user, method, path, params=query, data=None if method in {"GET", "HEAD"} else "", headers=headers
    )
    assert answer.status_code != 401
    if method == "HEAD":
        return answer.status_code == 403
    return answer.status_code == 403 and DENIED in answer.text


def test_each_route_with_each_role(
    serve: ServerMaker, guarded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Kafka is asked by some of them, and nobody is there who would answer.
    monkeypatch.setattr(gather, "GATHER_S", 0.2)
    monkeypatch.setattr(answer_cache, "FIRST_WAIT_S", 0.2)
    rest = serve(worker=guarded)
    wrong = []
    for route in ALL_ROUTES:
        for level, user in enumerate(NAMES):
            may = level >= route.least_role
            if may and "/backfill" in route.path:
                continue  # Kafka would be asked, which is not here
            # Loggers are those of all connectors, so a role at some of them is too little.
            may = may and not route.path.startswith("/admin/loggers")
            if is_denied(rest, user, route) == may:
                wrong.append((route.method, route.path, user))
    assert wrong == []
    assert len(ALL_ROUTES) > 50


def test_loggers_take_a_role_at_all_connectors(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    for method, path, body in (
        ("GET", "/admin/loggers", ...), ("GET", "/admin/loggers/root", ...),
        ("PUT", "/admin/loggers/x.y", {"level": "DEBUG"}),
        ("PUT", "/admin/loggers/x.y?scope=cluster", {"level": "WARN"}),
    ):  # fmt: skip
        text = refused(ask(rest, "admin", method, path, body), 403)
        assert text == "admin may not do this for all connectors: it takes the role admin."
        assert ask(rest, "root", method, path, body).ok, path


def test_who_has_a_role_nowhere_is_told_so(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    for path, role in (("/connectors", "viewer"), ("/metrics", "viewer"), ("/ui/letters", "operator")):
        text = ask(rest, "anyone", "GET", path).text
        assert f"anyone may do this to no connector: it takes the role {role}." in text


def test_the_doctor_names_no_connector_that_one_may_not_view(
    serve: ServerMaker, guarded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = frozenset({"orders-1", "payments-1"})

    def gathered(worker: Any, _: Any, connectors: Any, configs: Any, **more: Any) -> Facts:
        del configs
        sealing = SealingFacts(outdated=names | {""}, closed=names)
        return Facts(worker, datetime.now(UTC), sealing=sealing, connectors=connectors, **more)

    monkeypatch.setattr("connect.rest.resources.doctor.gathered", gathered)
    rest = serve(worker=guarded)
    for path in ("/doctor", "/ui/doctor"):
        for user, own, foreign in (("viewer", "orders-1", "payments-1"), ("other-viewer", "payments-1", "orders-1")):
            text = ask(rest, user, "GET", path).text
            assert (own in text, foreign in text) == (True, False), (path, user)
        assert "orders-1, payments-1" in ask(rest, "root", "GET", path).text
    text = ask(rest, "editor", "PUT", "/doctor", CONFIG | {"name": "orders-1"}).text
    assert ("orders-1" in text, "payments-1" in text) == (True, False)


def test_the_doctor_tells_admins_of_roles_that_fit_no_connector(
    serve: ServerMaker, guarded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "connect.rest.resources.doctor.gathered", lambda worker, *_, **__: Facts(worker, datetime.now(UTC))
    )
    rest = serve(worker=guarded | {"rest.roles.viewer": "viewer, ada on lost-*, bob on orders-?"})
    assert ask(rest, "root", "POST", "/connectors", {"name": "orders-1", "config": CONFIG}).status_code == 201

    def told(user: str) -> list[str]:
        found = ask(rest, user, "GET", "/doctor").json()["findings"]
        return [one["evidence"] for one in found if one["name"] == "role-fits-nothing"]

    other = [text for text in told("root") if "payments-*" not in text]
    assert other == ["ada on lost-*: no connector has a name that fits lost-*."]
    assert told("viewer") == []


def test_a_role_at_other_connectors_is_none_here(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    about = [route for route in ALL_ROUTES if route.path.startswith("/connectors/{name}") and route.least_role]
    assert len(about) > 15
    assert [route.path for route in about if not is_denied(rest, "other-admin", route)] == []
    pages = [one for one in site.ROUTES if one.method == "GET" and "connector" in one.path]
    assert [route.path for route in pages if not is_denied(rest, "other-admin", route)] == []


def test_an_encoded_or_doubled_name_is_judged_as_it_is_used(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    for path in ("/connectors/%70ayments-1", "/connectors/payments-1/", "/connectors/payments%2D1/status"):
        refused(ask(rest, "admin", "GET", path), 403)
    assert ask(rest, "admin", "GET", "/ui/connector?name=payments-1&name=orders-1").status_code == 403
    assert ask(rest, "admin", "GET", "/ui/connector?name=orders-1&name=payments-1").status_code == 404


def test_a_body_names_the_connector_it_is_about(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    body = {"name": "payments-1", "config": CONFIG}
    text = refused(ask(rest, "editor", "POST", "/connectors", body), 403)
    assert text == "editor may not do this to connector payments-1: it takes the role editor."
    refused(ask(rest, "editor", "POST", "/connectors?dry_run=true", body), 403)
    assert ask(rest, "editor", "POST", "/connectors", body | {"name": "orders-1"}).status_code == 201
    refused(ask(rest, "editor", "PUT", "/connectors/payments-1/config", CONFIG), 403)
    # A masked secret of another's connector would be put in, and sent to where this one wants.
    validate = "/connector-plugins/FileStreamSource/config/validate"
    refused(ask(rest, "editor", "PUT", validate, CONFIG | {"name": "payments-1"}), 403)
    assert ask(rest, "editor", "PUT", validate, CONFIG | {"name": "orders-1"}).status_code == 200
    both = {"connectors": [{"name": "orders-1", "config": CONFIG}, {"name": "payments-1", "config": CONFIG}]}
    assert "payments-1" in refused(ask(rest, "editor", "POST", "/poc", both), 403)


def test_a_form_names_the_connector_it_is_about(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    for name in ("orders-1", "payments-1"):
        assert ask(rest, "root", "PUT", f"/connectors/{name}/config", CONFIG).status_code == 201
    token = re.search(r'name="token" value="([^"]+)"', ask(rest, "operator", "GET", "/ui/connector?name=orders-1").text)
    assert token is not None
    form = {"token": token[1], "do": "stop", "name": "payments-1"}
    for path, user in (("/ui/connector", "operator"), ("/ui/edit", "editor"), ("/ui/offsets", "operator")):
        for name in ("payments-1", " payments-1", "payments-1 "):
            sent = ask(rest, user, "POST", path, data=form | {"name": name},
                       headers={"Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
            assert (sent.status_code, DENIED in sent.text) == (403, True), (path, sent.text)
    assert ask(rest, "root", "GET", "/connectors/payments-1/status").json()["connector"]["state"] != "STOPPED"


def test_lists_show_what_one_may_view(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    for name in ("orders-1", "payments-1"):
        assert ask(rest, "root", "PUT", f"/connectors/{name}/config", CONFIG).status_code == 201
    rest.operations.overdue_tasks = [OverdueTask(TaskId(name, 0), "waits", 1) for name in ("orders-1", "payments-1")]
    paths = ["/connectors", "/connectors?expand=status&expand=info&notes=true", "/metrics", "/health", "/ui"]
    for path in paths:
        for user, own, foreign in (("viewer", "orders-1", "payments-1"), ("other-viewer", "payments-1", "orders-1")):
            text = ask(rest, user, "GET", path).text
            assert (own in text, foreign in text) == (True, False), (path, user)
        text = ask(rest, "root", "GET", path).text
        assert "orders-1" in text
        assert "payments-1" in text


@pytest.mark.parametrize(
    ("user", "operates", "edits"),
    [("viewer", False, False), ("operator", True, False), ("editor", True, True), ("other-admin", False, False)],
)
def test_pages_show_the_buttons_that_their_reader_may_press(
    serve: ServerMaker, guarded: dict[str, str], user: str, operates: bool, edits: bool
) -> None:
    everyone = ", ".join(NAMES[1:]) + ", " + ", ".join(f"other-{name}" for name in NAMES[1:])
    rest = serve(worker={**guarded, "rest.roles.viewer": everyone})
    for changed in ({}, {"topic": "u"}):  # two versions: the first one can be gone back to
        config = {**CONFIG, **changed}
        assert ask(rest, "root", "PUT", "/connectors/orders-1/config", config).status_code in {200, 201}
    assert ask(rest, "root", "PUT", "/connectors/orders-1/stop").status_code == 204

    def shown(path: str) -> str:
        answer = ask(rest, user, "GET", path)
        assert answer.status_code == 200, path
        return answer.text

    for path in ("/ui/connector?name=orders-1", "/ui/offsets?name=orders-1"):
        assert ('method="post"' in shown(path)) is operates, path
    for path in ("/ui/edit?name=orders-1", "/ui/history?name=orders-1"):
        assert ('method="post"' in shown(path)) is edits, path
    page = shown("/ui/connector?name=orders-1")
    assert ('value="resume"' in page, "/ui/letters?" in page) == (operates, operates)
    assert ("New connector" in page) is (edits or user == "other-admin")
    assert ("To change it takes the role editor" in shown("/ui/edit?name=orders-1")) is not edits
    assert "read-only" not in page


def test_backfills_are_judged_by_the_connectors_of_their_specs(
    serve: ServerMaker, guarded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Service:
        """Holds jobs in memory in place of Kafka."""

        def backfills(self) -> list[dict[str, Any]]:
            specs = {
                "own": {"source": {"connector": "orders-1"}},
                "copied": {"source": {"connector": "orders-1"}, "target": {"connector": "payments-1"}},
                "made": {"source": {"connector": "orders-1", "config": "/etc/x.json"}},
                "foreign": {"source": {"connector": "payments-1"}},
            }
            return [{"name": name, "spec": spec} for name, spec in specs.items()] + [{"name": "x", "unreadable": "?"}]

        def backfill(self, name: str) -> dict[str, Any]:
            return {"name": name}

        def start(self, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
            return {"name": body["name"]}

    monkeypatch.setattr(backfills._Service, "_service", lambda self: Service())
    rest = serve(worker=guarded)
    assert [job["name"] for job in ask(rest, "viewer", "GET", "/backfills").json()] == ["own"]
    assert len(ask(rest, "root", "GET", "/backfills").json()) == 5
    for name, status in (("own", 200), ("copied", 403), ("made", 403), ("foreign", 403), ("x", 403)):
        assert ask(rest, "viewer", "GET", f"/backfills/{name}").status_code == status, name
    new = {"name": "new", "source": {"connector": "orders-1"}}
    assert ask(rest, "editor", "POST", "/backfills", new).status_code == 201
    for other in (
        {"source": {"connector": "payments-1"}}, {"name": "foreign"}, {"source": {}},
        {"target": {"connector": "payments-1"}}, {"source": {"connector": "orders-1", "config": "/x"}},
    ):  # fmt: skip
        refused(ask(rest, "editor", "POST", "/backfills", new | other), 403)


def test_the_leader_judges_what_a_follower_passes_on(serve: ServerMaker, guarded: dict[str, str]) -> None:
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster), worker=guarded)
    # This follower lets everything through, so that the leader's word is what is seen.
    lax = {"rest.basic.auth.file": guarded["rest.basic.auth.file"]}
    follower = serve(MemoryOperations(cluster, leads=False), worker=lax)
    cluster.leader_url = leader.url
    refused(ask(follower, "viewer", "PUT", "/connectors/orders-1/config", CONFIG), 403)
    assert ask(follower, "editor", "PUT", "/connectors/orders-1/config", CONFIG).status_code == 201


def test_without_roles_every_user_may_do_everything(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker={"rest.basic.auth.file": guarded["rest.basic.auth.file"]})
    assert ask(rest, "anyone", "PUT", "/connectors/x/config", CONFIG).status_code == 201
    assert ask(rest, "anyone", "GET", "/admin/loggers").status_code == 200


def test_health_is_open_and_says_little(serve: ServerMaker, guarded: dict[str, str]) -> None:
    rest = serve(worker=guarded)
    rest.operations.overdue_tasks = [OverdueTask(TaskId("orders-1", 0), "waits", 1)]
    for user in (None, ("anyone", "wrong")):
        assert list(rest("GET", "/health", auth=user).json()) == ["status", "message"]


def test_a_role_for_nobody_is_noted_at_the_start(guarded: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Login(worker_config(**guarded | {"rest.roles.viewer": "eve on x-*, group:ops, oidc:bob, *"}))
    noted = [record.getMessage() for record in caplog.records]
    assert [text.split()[0] for text in noted] == ["eve", "group:ops", "oidc:bob"]


def test_all_broken_keys_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        worker_config(**{
            "rest.roles.viewer": "on x", "rest.roles.editor": "ada on ", "rest.oidc.issuer": "http://issuer.example",
        })  # fmt: skip
    assert {problem.key for problem in caught.value.problems} == {
        "rest.roles.viewer", "rest.roles.editor", "rest.oidc.issuer",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"rest.roles.viewer": "*"}, "nobody can log in"),
        ({"rest.oidc.audience": "a"}, "without rest.oidc.issuer"),
        ({"rest.oidc.issuer": "https://i.example", "rest.roles.admin": "oidc:a"}, "needs rest.oidc.audience"),
        ({"rest.oidc.issuer": "https://i.example", "rest.oidc.audience": "a"}, "needs roles"),
        ({"rest.oidc.issuer": "https://u:p@i.example", "rest.oidc.audience": "a"}, "https://host/path"),
    ],
)
def test_keys_that_do_not_fit_together(keys: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        worker_config(**keys)


@pytest.mark.parametrize("keys", [{}, {"admin.listeners": "http://127.0.0.1:0"}, {"rest.ui": "off"}])
def test_nothing_is_served_that_the_table_does_not_have(keys: dict[str, str]) -> None:
    """So a route that is added another way than by its declaration is seen: it would be judged by no role."""
    context = RestContext(MemoryOperations(), catalog(), worker_config(**keys))
    known = {(route.method, route.path.rstrip("/")) for route in ALL_ROUTES}
    for app in (rest_app(context), admin_app(context)):
        served = {
            (route.method, route.resource.canonical.rstrip("/"))
            for route in app.router.routes()
            if route.resource is not None and route.method not in {"OPTIONS", "HEAD"}
        }
        assert served - known == set()
        assert len(served) >= 3
