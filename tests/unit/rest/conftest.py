"""A real HTTP server over a cluster in memory, and a client for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests

sys.path.insert(0, str(Path(__file__).parent.parent / "cluster_validation"))  # sample_plugins

from memory_cluster import Cluster, MemoryOperations
from sample_plugins import FILE_SOURCE, catalog, worker_config

from connect.rest.app import admin_app, rest_app
from connect.rest.context import RestContext
from connect.rest.listeners import bind
from connect.rest.server import HttpThread


class Rest:
    """A worker's REST API, by HTTP."""

    def __init__(self, operations: MemoryOperations, url: str) -> None:
        self.operations = operations
        self.url = url
        self.admin_url = ""
        self.session = requests.Session()

    def __call__(self, method: str, path: str, body: Any = ..., **more: Any) -> requests.Response:
        headers = more.pop("headers", {})
        if body is not ...:
            more["data"] = json.dumps(body)
        if "data" in more:
            headers = {"Content-Type": "application/json", **headers}
        return self.session.request(method, self.url + path, headers=headers, timeout=30, **more)

    def get(self, path: str, **more: Any) -> Any:
        """The JSON of a 200."""
        answer = self("GET", path, **more)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"] == "application/json"
        return answer.json()

    def create(self, name: str, state: str | None = None, **over: str) -> dict[str, Any]:
        """A file source."""
        body: dict[str, Any] = {"name": name, "config": {"connector.class": FILE_SOURCE, "topic": "t", **over}}
        answer = self("POST", "/connectors", body | ({"initial_state": state} if state else {}))
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created


def at(name: str, rest: str = "") -> str:
    """The path of a connector."""
    return f"/connectors/{quote(name, safe='')}{rest}"


def invalid(*errors: str) -> str:
    return (
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n"
        + "\n".join(errors)
        + "\nYou can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def refused(answer: requests.Response, status: int, message: str | None = None) -> str:
    """The message of an error answer, which always has exactly these members."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    body = answer.json()
    assert list(body) == ["error_code", "message"]
    assert body["error_code"] == status
    if message is not None:
        assert body["message"] == message
    text: str = body["message"]
    return text


ServerMaker = Callable[..., Rest]


@pytest.fixture
def serve() -> Iterator[ServerMaker]:
    """Starts servers: `serve(operations, worker={…}, check_timeout_s=…)`."""
    servers, bounds = [], []

    def start(operations: MemoryOperations | None = None, worker: dict[str, str] | None = None, **more: Any) -> Rest:
        settings = worker_config(**{"listeners": "http://127.0.0.1:0", **(worker or {})})
        bound = bind(settings)
        bounds.append(bound)
        operations = operations or MemoryOperations()
        context = RestContext(operations, catalog(), settings, worker_id=bound.worker_id, **more)
        server = HttpThread(rest_app(context), bound, admin_app(context) if bound.admin else None)
        server.start()
        servers.append(server)
        rest = Rest(operations, server.url)
        rest.admin_url = "".join(f"http://127.0.0.1:{listener.port}" for listener in bound.admin or ())
        return rest

    yield start
    for server in servers:
        server.stop()
    for bound in bounds:
        bound.close()


@pytest.fixture
def rest(serve: ServerMaker) -> Rest:
    """One worker that leads."""
    return serve()


@pytest.fixture
def two(serve: ServerMaker) -> tuple[Rest, Rest]:
    """A leader and a follower of one cluster."""
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster))
    follower = serve(MemoryOperations(cluster, leads=False))
    cluster.leader_url = leader.url
    return leader, follower
