"""A client of a worker's REST API, as tests use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import requests

if TYPE_CHECKING:
    from memory_cluster import MemoryOperations

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


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
