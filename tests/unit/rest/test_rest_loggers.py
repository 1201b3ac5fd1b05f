"""Sets log levels by REST."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from rest_client import Rest, ServerMaker, refused

from connect.telemetry.log_levels import LogLevels


@pytest.fixture
def logger(request: pytest.FixtureRequest) -> str:
    return f"rest_loggers.t{abs(hash(request.node.nodeid))}"


def test_every_logger_is_listed_by_name(rest: Rest) -> None:
    found = rest.get("/admin/loggers")
    assert list(found) == sorted(found)
    assert list(found["root"]) == ["level", "last_modified"]
    assert found == rest.get("/admin/loggers/")


@pytest.mark.parametrize("level", ["DEBUG", "trace", "WARN", "Error", "OFF", "FATAL", "ALL"])
@pytest.mark.parametrize("query", ["", "?scope=worker", "?scope=unknown"])
def test_a_level_is_set_here(rest: Rest, logger: str, level: str, query: str) -> None:
    before_ms = time.time() * 1000
    answer = rest("PUT", f"/admin/loggers/{logger}{query}", {"level": level})
    assert (answer.status_code, answer.json()) == (200, [logger])
    found = rest.get(f"/admin/loggers/{logger}")
    assert found["level"] == level.upper()
    assert before_ms - 1 <= found["last_modified"] <= time.time() * 1000 + 1
    assert (logger in rest.get("/admin/loggers")) == (level != "OFF")


def test_a_level_counts_for_all_below(rest: Rest, logger: str) -> None:
    below = [f"{logger}.a", f"{logger}.b.c"]
    for name in below:
        rest("PUT", f"/admin/loggers/{name}", {"level": "WARN"})
    logging.getLogger(f"{logger}beside").setLevel("INFO")
    assert rest("PUT", f"/admin/loggers/{logger}", {"level": "ERROR"}).json() == [logger, *below]
    assert logging.getLogger(below[1]).level == logging.ERROR
    assert logging.getLogger(f"{logger}beside").level == logging.INFO


def test_a_level_for_the_cluster_goes_through_it(rest: Rest, logger: str) -> None:
    answer = rest("PUT", f"/admin/loggers/{logger}?scope=cluster", {"level": "debug"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert rest.operations.cluster.levels == [(logger, "DEBUG")]


def test_an_unknown_logger_is_a_404(rest: Rest) -> None:
    refused(rest("GET", "/admin/loggers/no.such"), 404, "Logger no.such not found.")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": None}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": "BAD"}, 404, "invalid log level 'BAD'."),
        ({"level": 3}, 404, "invalid log level '3'."),
        ({"level": ""}, 500, "Illegal null or empty Level name."),
        (None, 500, 'Cannot read the request, because "levelMap" is null'),
    ],
)
def test_levels_that_are_refused(rest: Rest, logger: str, body: Any, status: int, message: str) -> None:
    refused(rest("PUT", f"/admin/loggers/{logger}", body), status, message)
    refused(rest("GET", f"/admin/loggers/{logger}"), 404)


@pytest.mark.parametrize("query", ["", "?scope=cluster"])
@pytest.mark.parametrize("name", ["n" * 256, "%00", "a%0Ab", "a%1Bb", "a%E2%80%AEb", "%FF"])
def test_names_that_no_logger_has_are_refused(rest: Rest, name: str, query: str) -> None:
    refused(rest("PUT", f"/admin/loggers/{name}{query}", {"level": "INFO"}), 400)
    refused(rest("GET", f"/admin/loggers/{name}"), 404)
    assert rest.operations.cluster.levels == []


@pytest.mark.parametrize("name", ["org.apache.kafka.connect.runtime.WorkerSourceTask", "a.B$1", "é.x_y-z", "n" * 255])
def test_names_as_code_has_them_are_taken(rest: Rest, name: str) -> None:
    assert rest("PUT", f"/admin/loggers/{name}", {"level": "INFO"}).status_code == 200


def test_no_more_names_are_made_than_people_need(rest: Rest, logger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connect.rest.resources.loggers.LOG_LEVELS", LogLevels())
    for number in range(500):
        assert rest("PUT", f"/admin/loggers/{logger}.n{number}", {"level": "INFO"}).status_code == 200
    for query in ("", "?scope=cluster"):
        answer = rest("PUT", f"/admin/loggers/{logger}.more{query}", {"level": "INFO"})
        refused(answer, 400)
        assert "500 names that no code had" in answer.json()["message"]
    assert rest("PUT", f"/admin/loggers/{logger}.n7", {"level": "WARN"}).status_code == 200
    logging.getLogger(f"{logger}.of.code")
    assert rest("PUT", f"/admin/loggers/{logger}.of.code", {"level": "WARN"}).status_code == 200


def test_names_that_another_worker_tells_are_bounded_as_well(logger: str) -> None:
    levels = LogLevels()
    for name in (f"{logger}.{'n' * 300}", f"{logger}.\0"):
        levels.set_as_told(name, "DEBUG")
        assert levels.get(name) is None


def test_an_empty_admin_listener_switches_them_off(serve: ServerMaker) -> None:
    off = serve(worker={"admin.listeners": ""})
    refused(off("GET", "/admin/loggers"), 404, "HTTP 404 Not Found")
    assert "/admin/loggers" not in off.get("/openapi.json")["paths"]
