"""The description of the API, and answers that fit it."""

from __future__ import annotations

import re
from typing import Any

from rest_client import Rest
from sample_plugins import FILE_SOURCE

from connect.rest.app import ROUTES


def test_every_route_of_the_public_api_is_described(rest: Rest) -> None:
    described = {
        (method.upper(), path) for path, methods in rest.get("/openapi.json")["paths"].items() for method in methods
    }
    internal = {("POST", "/connectors/{name}/tasks"), ("PUT", "/connectors/{name}/fence")}
    assert described == {(route.method, route.path) for route in ROUTES} - internal


def test_every_reference_leads_somewhere_and_names_are_unique(rest: Rest) -> None:
    document = rest.get("/openapi.json")
    for reference in set(re.findall(r"'\$ref': '#/([^']+)'", str(document))):
        place: Any = document
        for part in reference.split("/"):
            place = place[part]
        assert place
    names = [o["operationId"] for methods in document["paths"].values() for o in methods.values()]
    assert len(names) == len(set(names))
    assert all(o["summary"].endswith(".") for methods in document["paths"].values() for o in methods.values())


def test_answers_have_the_members_that_the_description_requires(rest: Rest) -> None:
    rest.create("a", **{"tasks.max": "2"})
    schemas = rest.get("/openapi.json")["components"]["schemas"]
    for path, name in (("/connectors/a", "Connector"), ("/connectors/a/status", "Status"), ("/", "Server"),
                       ("/connectors/a/tasks/1/status", "TaskState"), ("/admin/loggers/root", "Logger")):  # fmt: skip
        answer = rest.get(path)
        assert set(schemas[name]["required"]) <= set(answer) <= set(schemas[name]["properties"])
    definition = rest.get(f"/connector-plugins/{FILE_SOURCE}/config")[0]
    assert list(definition) == schemas["Definition"]["required"]
