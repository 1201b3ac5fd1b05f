"""Checks what every resource has in common: root, health, unknown paths, methods, media types, bodies."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from rest_client import Rest, ServerMaker, at, refused

from connect.cluster.model.statuses import OverdueTask, Stage
from connect.runtime.task.task_id import TaskId

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def raw(rest: Rest, method: str, target: str, body: bytes | None = None) -> tuple[int, Any]:
    """One request whose target goes out exactly as given."""
    url = urlsplit(rest.url)
    assert url.hostname is not None
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    try:
        connection.putrequest(method, target)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_root_names_a_kafka_version_and_the_cluster(rest: Rest) -> None:
    body = rest.get("/?x=1")
    assert list(body) == ["version", "commit", "kafka_cluster_id"]
    assert body["version"] == "4.1.0"
    assert body["kafka_cluster_id"] == "cluster-in-memory"


def test_health_of_a_worker_that_answers(rest: Rest) -> None:
    assert rest.get("/health") == {
        "status": "healthy", "message": "Worker has completed startup and is ready to handle requests.",
    }  # fmt: skip


def test_health_of_a_worker_that_starts(rest: Rest) -> None:
    rest.operations.started = False
    answer = rest("GET", "/health")
    assert answer.status_code == 503
    assert answer.json()["status"] == "starting"
    assert answer.json()["message"].startswith("Worker is still starting up. The last operation the worker completed")


def test_a_worker_is_ready_while_it_has_a_place_in_the_group(rest: Rest) -> None:
    assert rest.get("/health/ready") == {
        "status": "ready", "message": "Worker has read its topics and has a place in the group.",
    }  # fmt: skip
    rest.operations.started = rest.operations.is_ready = False
    starting = rest("GET", "/health/ready")
    assert (starting.status_code, starting.json()["status"]) == (503, "not ready")
    assert starting.json()["message"].startswith("Worker is not ready. The last operation the worker completed")
    rest.operations.started = rest.operations.is_out = True
    out = rest("GET", "/health/ready")
    assert (out.status_code, "lost its place in the group" in out.json()["message"]) == (503, True)


def test_health_of_a_worker_that_lost_its_group(rest: Rest) -> None:
    rest.operations.is_out = True
    answer = rest("GET", "/health")
    assert (answer.status_code, answer.json()["status"]) == (500, "unhealthy")
    assert "lost its place in the group" in answer.json()["message"]
    assert rest.get("/connectors") == []


def test_health_names_tasks_that_should_run_and_do_not(rest: Rest) -> None:
    assert "overdue_tasks" not in rest.get("/health")
    rest.operations.overdue_tasks = (OverdueTask(TaskId("c", 1), "It has no slot.", 1_700_000_000_000),)
    named = {"connector": "c", "task": 1, "reason": "It has no slot.", "since_ms": 1_700_000_000_000}
    assert rest.get("/health")["overdue_tasks"] == [named]


def test_health_of_a_worker_that_hangs(serve: ServerMaker) -> None:
    rest = serve(health_timeout_s=0.05)
    rest.operations.stuck = True
    answer = rest("GET", "/health")
    assert answer.status_code == 500
    assert answer.json()["status"] == "unhealthy"


@pytest.mark.parametrize("path", ["/", "/connectors", "/connectors/", "/connector-plugins", "/health"])
def test_head_answers_as_get_without_a_body(rest: Rest, path: str) -> None:
    answer = rest("HEAD", path)
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["Content-Type"] == "application/json"


def test_head_of_an_unknown_connector(rest: Rest) -> None:
    answer = rest("HEAD", "/connectors/x")
    assert answer.status_code == 404
    assert answer.content == b""


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/", {"HEAD", "GET", "OPTIONS"}),
        ("/connectors", {"HEAD", "GET", "POST", "OPTIONS"}),
        ("/connectors/x", {"HEAD", "GET", "DELETE", "OPTIONS"}),
        ("/connectors/x/config", {"HEAD", "GET", "PUT", "PATCH", "OPTIONS"}),
        ("/connectors/x/pause", {"PUT", "OPTIONS"}),
        ("/connectors/x/restart/", {"POST", "OPTIONS"}),
    ],
)
def test_options_lists_the_methods(rest: Rest, path: str, methods: set[str]) -> None:
    answer = rest("OPTIONS", path)
    assert answer.status_code == 200
    assert {m.strip() for m in answer.headers["Allow"].split(",")} == methods


@pytest.mark.parametrize(
    "path",
    ["/nope", "/CONNECTORS", "/connectors/x/nope", "/connectors/x/tasks/0", "/connectors/x/tasks/abc/status", "/admin",
     "/connectors/x/tasks/99999999999/status", "/connectors/x/tasks/0x1/status", "/connector-plugins/x"],
)  # fmt: skip
def test_an_unknown_path_is_a_404(rest: Rest, path: str) -> None:
    refused(rest("GET", path), 404, "HTTP 404 Not Found")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/"), ("PUT", "/connectors"), ("POST", "/connectors/x"), ("DELETE", "/connectors/x/config"),
     ("GET", "/connectors/x/pause"), ("PUT", "/connectors/x/restart"), ("POST", "/connector-plugins"),
     ("GET", "/connector-plugins/x/config/validate"), ("GET", "/connectors/x/tasks/0/restart")],
)  # fmt: skip
def test_a_wrong_method_is_a_405(rest: Rest, method: str, path: str) -> None:
    refused(rest(method, path), 405, "HTTP 405 Method Not Allowed")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/connectors"), ("PUT", "/connectors/x/config"), ("PATCH", "/connectors/x/config"),
     ("PUT", "/connectors/x/pause"), ("PUT", "/connector-plugins/x/config/validate")],
)  # fmt: skip
def test_a_body_that_is_not_json(rest: Rest, method: str, path: str) -> None:
    answer = rest(method, path, data="{}", headers={"Content-Type": "text/plain"})
    refused(answer, 415, "HTTP 415 Unsupported Media Type")


def test_a_body_without_a_type(rest: Rest) -> None:
    assert raw(rest, "POST", "/connectors", b"{}")[0] == 415


def test_pause_needs_no_type(rest: Rest) -> None:
    rest.create("x")
    assert rest("PUT", "/connectors/x/pause").status_code == 202


def test_a_type_with_a_charset(rest: Rest) -> None:
    answer = rest("PUT", "/connectors/x/config", data="{}", headers={"Content-Type": "application/json; charset=utf-8"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("accept", "status"),
    [("text/plain", 406), ("application/json", 200), ("*/*", 200), ("text/html, */*;q=0.1", 200),
     ("application/*", 200),
     ("application/json;q=0", 406)],
)  # fmt: skip
def test_an_accept_header_without_json_is_refused(rest: Rest, accept: str, status: int) -> None:
    answer = rest("GET", "/connectors", headers={"Accept": accept})
    assert answer.status_code == status


def test_a_body_over_a_mebibyte(rest: Rest) -> None:
    refused(rest("POST", "/connectors", data=b" " * (1 << 20) + b"{}"), 413, "HTTP 413 Request Entity Too Large")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("{bad", "Unexpected character"),
        ('{"name":', "Unexpected end-of-input"),
        ('{"name":"a', "Unexpected end-of-input"),
        ("x", "Unrecognized token"),
        ('{"name":"a"} xx', "Unrecognized token"),
        ("", '"createRequest" is null'),
        ("null", '"createRequest" is null'),
        ("[]", "Cannot deserialize value"),
        ('"x"', "Cannot construct instance"),
        ("3", "Cannot deserialize value"),
        ('{"name":"a"}', '"connectorConfig" is null'),
        ('{"name":"a","config":"s"}', "Cannot construct instance"),
        ('{"name":"a","config":[]}', "Cannot deserialize value"),
        ('{"name":"a","config":{"x":{}}}', "Cannot deserialize value"),
        ('{"name":"a","config":{"x":[1]}}', "Cannot deserialize value"),
        ('{"name":"a","config":{},"foo":1}', 'Unrecognized field "foo"'),
        ('{"name":"a","config":{},"initial_state":"foo"}', "InitialState"),
        ('{"name":"a","config":{},"initial_state":7}', "InitialState"),
        ('{"name":"a","config":{"x":NaN}}', "Non-standard token 'NaN'"),
        ('{"name":"a","config":{"x":"\\ud800"}}', "Invalid UTF-16"),
        (b'{"name":"\xff"}', "Invalid UTF-8 start byte 0xff"),
        (b'{"name":"caf\xe9"}', "Invalid UTF-8 middle byte 0xe9"),
    ],
)
def test_a_body_that_cannot_be_used(rest: Rest, body: str | bytes, text: str) -> None:
    assert text in refused(rest("POST", "/connectors", data=body), 500)


@pytest.mark.parametrize(
    ("body", "text"), [("[]", "Cannot deserialize"), ('{"a":{}}', "Cannot deserialize"), ("", "null")]
)
@pytest.mark.parametrize("path", ["/connectors/x/config", "/connector-plugins/FileStreamSource/config/validate"])
def test_a_map_that_cannot_be_used(rest: Rest, path: str, body: str, text: str) -> None:
    assert text in refused(rest("PUT", path, data=body), 500)


@pytest.mark.parametrize(
    ("target", "name"),
    [("%20", " "), ("a%3Fb", "a?b"), ("a+b", "a+b"), ("a%3Bb", "a;b"), ("a;b", "a;b"), ("a%23b", "a#b"),
     ("a%26b=c", "a&b=c"),
     ("%C3%A9%E2%98%83", "é☃"), ("a%F0%9F%98%80", "a😀"), ("a:b@c", "a:b@c"), ("a%22b", 'a"b'), ("...", "..."),
     ("a%2Fb", "a/b"), ("a%2fb", "a/b"), ("a%25b", "a%b"), ("a%252Fb", "a%2Fb"), ("a%7By%7D", "a{y}"),
     ("a%0Ab", "a\nb"),
     ("%2E%2E", ".."), ("%5Ba%5D", "[a]")],
)  # fmt: skip
def test_names_are_decoded_once(rest: Rest, target: str, name: str) -> None:
    assert raw(rest, "GET", f"/connectors/{target}") == (
        404, {"error_code": 404, "message": f"Connector {name} not found"},
    )  # fmt: skip
    assert raw(rest, "GET", f"/connectors/{target}/status")[1]["message"] == f"No status found for connector {name}"


def test_an_empty_name_is_no_path(rest: Rest) -> None:
    assert raw(rest, "GET", "/connectors//status")[0] == 404


@pytest.mark.parametrize(
    "name",
    ["with space", "é☃-☃", "😀", "a:b@c", "a+b&c=d", 'q"uote', "q?mark#hash", "dash-1-2", "dots...", "tilde~(1)!*'",
     "\u00a0nbsp", "[x]|^`", "a/b", "a%b", "100%25", "{x}", "a;b=c", "a\\b"],
)  # fmt: skip
def test_every_name_can_be_created_read_and_deleted(rest: Rest, name: str) -> None:
    assert rest.create(name)["name"] == name
    assert rest.get(at(name))["config"]["name"] == name
    assert rest.get(at(name, "/tasks/0/status"))["id"] == 0
    assert name in rest.get("/connectors")
    assert rest("DELETE", at(name)).status_code == 204
    refused(rest("GET", at(name)), 404, f"Connector {name} not found")


def test_a_request_that_takes_too_long_names_what_the_worker_did_last(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.request.timeout.ms": "300"})
    rest.operations.stuck = True
    assert refused(rest("PUT", "/connectors/x/topics/reset"), 500) == (
        "Request timed out. The last operation the worker completed was polling the config topic, which began at "
        "2023-11-14T22:13:20.000Z and completed at 2023-11-14T22:13:20.500Z."
    )


def test_a_request_that_waits_for_something_else_names_that(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.request.timeout.ms": "300"})
    rest.create("a", "STOPPED")
    rest.operations.stuck = True
    text = refused(rest("GET", "/connectors/a/offsets"), 500)
    assert text.startswith("Request timed out. The worker is currently reading the offsets of connector a, which began")
    rest.operations.stage = Stage("writing to the config topic", 1_700_000_000_000)
    text = refused(rest("GET", "/connectors/a/offsets"), 500)
    assert text.startswith(
        "Request timed out. The worker is currently writing to the config topic, which began at 2023"
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32-le"])
def test_a_body_may_be_in_any_encoding_of_unicode(rest: Rest, encoding: str) -> None:
    body = json.dumps({"connector.class": FILE_SOURCE, "topic": "t", "x": "\u00fc"}, ensure_ascii=False)
    assert rest("PUT", "/connectors/a/config", data=body.encode(encoding)).status_code == 201
    assert rest.get("/connectors/a/config")["x"] == "\u00fc"


@pytest.mark.parametrize("character", ["\n", "\x7f", "\x80", "\x9f"])
def test_a_name_may_hold_no_control_character(rest: Rest, character: str) -> None:
    body = {"name": f"a{character}b", "config": {"connector.class": FILE_SOURCE, "topic": "t"}}
    text = refused(rest("POST", "/connectors", body), 400)
    assert f"String may not contain control sequences but had the following ASCII chars: {ord(character)}\n" in text


def test_an_unexpected_error_shows_its_type_only(rest: Rest) -> None:
    rest.operations.connectors.names = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    text = refused(rest("GET", "/connectors"), 500)
    assert text == "The worker failed with ZeroDivisionError; its log has the trace."


@pytest.mark.parametrize(("method", "path"), [("POST", "/connectors/x/tasks"), ("PUT", "/connectors/x/fence")])
def test_internal_requests_of_java_workers_are_refused(rest: Rest, method: str, path: str) -> None:
    refused(rest(method, path, []), 400, "Internal request missing required signature")
    signed = {"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    refused(rest(method, path, [], headers=signed), 403, "Internal request contained invalid signature.")
    odd = signed | {"X-Connect-Request-Signature-Algorithm": "HmacMD5x"}
    assert "HmacMD5x" in refused(rest(method, path, [], headers=odd), 400)


def test_a_worker_that_starts_shows_no_empty_list(rest: Rest) -> None:
    rest.operations.started = False
    assert "a rebalance is expected" in refused(rest("GET", "/connectors"), 409)
    assert "a rebalance is expected" in refused(rest("DELETE", at("x")), 409)
    assert rest.get("/")["version"] == "4.1.0"
    assert rest.get("/connector-plugins")
