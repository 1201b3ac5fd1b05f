"""Checks who may use REST, from where, and what every answer carries: basic authentication, CORS, headers, admin
listeners.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
from memory_cluster import Cluster, MemoryOperations
from rest_client import Rest, ServerMaker, refused
from sample_plugins import FILE_SOURCE, worker_config

from connect.api.errors import ConfigError
from connect.cluster.model.statuses import OverdueTask
from connect.rest.server.authentication import Login
from connect.rest.server.cors import cross_origin
from connect.rest.server.response_headers import header_rules
from connect.runtime.task.task_id import TaskId

PAGE = "https://console.example"
CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}


@pytest.fixture
def users(tmp_path: Path) -> str:
    file = tmp_path / "users.properties"
    file.write_text("# who\nada=lovelace\nbøb = pässword: 1\n", encoding="utf-8")
    return str(file)


def test_without_a_known_user_nothing_is_answered(serve: ServerMaker, users: str) -> None:
    rest = serve(worker={"rest.basic.auth.file": users})
    for given in (None, ("ada", "x"), ("ada", ""), ("", ""), ("eve", "lovelace")):
        for method, path in (("GET", "/"), ("GET", "/connectors"), ("DELETE", "/connectors/a"), ("GET", "/nowhere")):
            answer = rest(method, path, auth=given)
            refused(answer, 401, "User cannot access the resource.")
            assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")
    for header in ("Basic !!", "Bearer ada", "Basic", "Basic YQ=="):
        refused(rest("GET", "/", headers={"Authorization": header}), 401)


def test_whether_it_is_healthy_is_told_to_everyone_and_nothing_else(serve: ServerMaker, users: str) -> None:
    rest = serve(worker={"rest.basic.auth.file": users})
    rest.operations.overdue_tasks = [OverdueTask(TaskId("secret-name", 0), "waits", 1)]
    for path in ("/health", "/health/"):
        assert rest.get(path) == {"status": "healthy", "message": "Worker is healthy. Whoever logs in is told more."}
    assert rest("HEAD", "/health").status_code == 200
    assert rest("GET", "/health", auth=("ada", "lovelace")).json()["overdue_tasks"]
    rest.operations.is_cut_off, rest.operations.kafka_trouble = True, "kafka-1.internal:9092 is away."
    sick = rest("GET", "/health")
    assert (sick.status_code, "kafka-1" in sick.text, sick.json()["status"]) == (500, False, "unhealthy")
    assert rest.get("/health/ready")["status"] == "ready"
    rest.operations.is_ready = False
    for path in ("/health/ready", "/health/ready/"):
        unready = rest("GET", path)
        assert (unready.status_code, "kafka-1" in unready.text, unready.json()["status"]) == (503, False, "not ready")
    assert "kafka-1" in rest("GET", "/health/ready", auth=("ada", "lovelace")).json()["message"]
    for method, path in (
        ("POST", "/health"),
        ("PUT", "/health/ready"),
        ("GET", "/health/x"),
        ("GET", "/healthy"),
        ("GET", "//health"),
    ):
        assert rest(method, path).status_code == 401


def test_known_users_are_let_in(serve: ServerMaker, users: str) -> None:
    rest = serve(worker={"rest.basic.auth.file": users})
    assert rest("GET", "/connectors", auth=("ada", "lovelace")).json() == []
    bob = ("bøb".encode(), "pässword: 1".encode())
    assert rest("GET", "/connectors", auth=bob).json() == []


def test_a_changed_file_of_users_counts_without_a_restart(
    serve: ServerMaker, users: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("connect.rest.access.password_users.LOOK_S", 0.0)
    rest, file = serve(worker={"rest.basic.auth.file": users}), Path(users)
    assert rest("GET", "/connectors", auth=("ada", "lovelace")).status_code == 200
    file.write_text("ada=byron\neve=x\n", encoding="utf-8")
    refused(rest("GET", "/connectors", auth=("ada", "lovelace")), 401)
    for known in (("ada", "byron"), ("eve", "x")):
        assert rest("GET", "/connectors", auth=known).status_code == 200
    file.write_text("ada=byron\n", encoding="utf-8")
    refused(rest("GET", "/connectors", auth=("eve", "x")), 401)
    for broken in ("", "ada\n", None):
        file.unlink() if broken is None else file.write_text(broken, encoding="utf-8")
        assert rest("GET", "/connectors", auth=("ada", "byron")).status_code == 200, "the former users are kept"
        assert "users are those that it had before" in caplog.text
        refused(rest("GET", "/connectors", auth=("ada", "")), 401)
        caplog.clear()
    file.write_text("ada=again\n", encoding="utf-8")
    assert rest("GET", "/connectors", auth=("ada", "again")).status_code == 200


def test_a_file_of_users_that_could_not_be_read_is_read_when_that_is_allowed(
    serve: ServerMaker, users: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connect.rest.access.password_users.LOOK_S", 0.0)
    rest, file, read_text = serve(worker={"rest.basic.auth.file": users}), Path(users), Path.read_text
    file.write_text("eve=x\n", encoding="utf-8")

    def refuse(path: Path, encoding: str) -> str:
        if path == file:
            raise PermissionError(13, "Permission denied")
        return read_text(path, encoding=encoding)

    monkeypatch.setattr(Path, "read_text", refuse)
    assert rest("GET", "/connectors", auth=("ada", "lovelace")).status_code == 200, "the former users are kept"
    monkeypatch.setattr(Path, "read_text", read_text)
    file.chmod(0o600)
    refused(rest("GET", "/connectors", auth=("ada", "lovelace")), 401)
    assert rest("GET", "/connectors", auth=("eve", "x")).status_code == 200


def test_a_live_page_ends_with_the_password_that_it_was_opened_with(
    serve: ServerMaker, users: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connect.rest.access.password_users.LOOK_S", 0.0)
    monkeypatch.setattr("connect.rest.figures.sampler.INTERVAL_S", 0.1)
    rest = serve(worker={"rest.basic.auth.file": users})
    with rest.session.get(f"{rest.url}/ui/live/overview", auth=("ada", "lovelace"), stream=True, timeout=30) as live:
        told = live.iter_lines(chunk_size=1)
        assert next(told) == b"event: live"
        Path(users).write_text("ada=byron\n", encoding="utf-8")
        last = [line for line in told if line.startswith(b"event: ")]
    assert last[-1] == b"event: gone"


def test_calls_that_java_workers_sign_are_left_to_their_own_rules(serve: ServerMaker, users: str) -> None:
    rest = serve(worker={"rest.basic.auth.file": users})
    refused(rest("POST", "/connectors/a/tasks", []), 400)
    refused(rest("PUT", "/connectors/a/fence"), 400)
    refused(rest("GET", "/connectors/a/tasks"), 401)


def test_a_follower_passes_the_user_on(serve: ServerMaker, users: str) -> None:
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster), worker={"rest.basic.auth.file": users})
    follower = serve(MemoryOperations(cluster, leads=False), worker={"rest.basic.auth.file": users})
    cluster.leader_url = leader.url
    created = follower("PUT", "/connectors/a/config", CONFIG, auth=("ada", "lovelace"))
    assert (created.status_code, leader("GET", "/connectors", auth=("ada", "lovelace")).json()) == (201, ["a"])


@pytest.mark.parametrize(("content", "why"), [("", "has no users"), ("a=", "without a password"), (None, "not exist")])
def test_a_file_of_users_that_lets_nobody_or_everybody_in_is_refused(
    tmp_path: Path, content: str | None, why: str
) -> None:
    file = tmp_path / "users"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=why) as caught:
        Login(worker_config(rest_basic_auth_file=str(file)))
    assert caught.value.key == "rest.basic.auth.file"


@pytest.mark.parametrize(
    "name",
    [
        "BasicAuthSecurityRestExtension",
        "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension",
    ],
)
def test_javas_extension_needs_the_file_of_users(name: str, users: str) -> None:
    with pytest.raises(ConfigError, match=r"rest\.basic\.auth\.file is not set"):
        worker_config(rest_extension_classes=name)
    assert Login(worker_config(rest_extension_classes=name, rest_basic_auth_file=users)).is_asked_for


def test_no_page_is_allowed_by_default(rest: Rest) -> None:
    answer = rest("GET", "/", headers={"Origin": PAGE})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("allowed", ["*", PAGE, f"http://other.example, {PAGE}", r"https://.*\.example"])
def test_an_allowed_page_may_read_and_ask_before_it_writes(serve: ServerMaker, allowed: str) -> None:
    worker = {"access.control.allow.origin": allowed, "access.control.allow.methods": "GET,PUT, DELETE"}
    rest = serve(worker=worker)
    assert rest("GET", "/", headers={"Origin": PAGE}).headers["Access-Control-Allow-Origin"] == PAGE
    missing = rest("GET", "/connectors/x", headers={"Origin": PAGE})
    assert (missing.status_code, missing.headers["Access-Control-Allow-Origin"]) == (404, PAGE)
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "PUT"}
    answer = rest("OPTIONS", "/connectors/x/config", headers=asked)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Methods"] == "GET,PUT,DELETE"
    assert "Content-Type" in answer.headers["Access-Control-Allow-Headers"]
    assert answer.headers["Vary"] == "Origin"


def test_other_pages_get_no_permission(serve: ServerMaker) -> None:
    rest = serve(worker={"access.control.allow.origin": PAGE})
    for origin in ("https://evil.example", f"{PAGE}.evil.example"):
        assert "Access-Control-Allow-Origin" not in rest("GET", "/", headers={"Origin": origin}).headers
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "PUT"}
    assert rest("OPTIONS", "/connectors", headers=asked).headers["Access-Control-Allow-Methods"] == "GET,POST,HEAD"


def test_a_page_asks_without_a_password(serve: ServerMaker, users: str) -> None:
    rest = serve(worker={"access.control.allow.origin": PAGE, "rest.basic.auth.file": users})
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "PUT"}
    assert rest("OPTIONS", "/connectors/x/config", headers=asked).headers["Access-Control-Allow-Origin"] == PAGE
    refused(rest("GET", "/", headers={"Origin": PAGE}), 401)


def test_an_origin_that_is_no_pattern() -> None:
    with pytest.raises(ConfigError, match="Invalid regex"):
        cross_origin(worker_config(access_control_allow_origin="https://(x"))


def test_every_answer_carries_the_configured_headers(serve: ServerMaker, users: str) -> None:
    rules = (
        'add X-XSS-Protection: 1; mode=block, "add Cache-Control: no-cache, no-store",'
        "set X-Frame-Options: deny, setDate Expires: 3600000"
    )
    rest = serve(worker={"response.http.headers.config": rules, "rest.basic.auth.file": users})
    for answer in (rest("GET", "/"), rest("GET", "/", auth=("ada", "lovelace")), rest("GET", "/nowhere")):
        assert answer.headers["X-XSS-Protection"] == "1; mode=block"
        assert answer.headers["Cache-Control"] == "no-cache, no-store"
        assert answer.headers["X-Frame-Options"] == "deny"
        assert answer.headers["Expires"].endswith("GMT")


@pytest.mark.parametrize("text", ["X: y", "remove X: y", "add X", "add : y", "add X:", "setDate X: soon", "add X Y: z"])
def test_headers_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        header_rules(text)
    assert caught.value.key == "response.http.headers.config"


def test_admin_paths_may_be_on_a_listener_of_their_own(serve: ServerMaker) -> None:
    rest = serve(worker={"admin.listeners": "http://127.0.0.1:0"})
    refused(rest("GET", "/admin/loggers"), 404, "HTTP 404 Not Found")
    assert "/admin/loggers" not in rest.get("/openapi.json")["paths"]
    loggers = requests.get(f"{rest.admin_url}/admin/loggers", timeout=10)
    assert loggers.json()["root"]
    refused(requests.get(f"{rest.admin_url}/connectors", timeout=10), 404, "HTTP 404 Not Found")
