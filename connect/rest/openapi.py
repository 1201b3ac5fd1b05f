"""`GET /openapi.json`: this API's description, made from its routes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from aiohttp import web

from connect.rest.openapi_schemas import BODIES, QUERIES, SCHEMAS
from connect.rest.server.answers import json_answer
from connect.rest.server.context import context_of
from connect.rest.server.routing import JSON, Route

_ERRORS: Final = {"default": {"$ref": "#/components/responses/Error"}}


def openapi_route(routes: Iterable[Route]) -> Route:
    """The route that describes these routes."""
    described = tuple(routes)

    async def answer(request: web.Request) -> web.Response:
        return json_answer(openapi_document(described, context_of(request).version))

    return Route("GET", "/openapi.json", answer, early=True)


def openapi_document(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """An OpenAPI 3.1 document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.answer.__module__.endswith(".internal"):
            continue
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    error = {"description": "What went wrong.", "content": _content("Error")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Connect for Kafka",
            "version": version,
            "description": "Kafka Connect's REST API. Secrets appear as [hidden]; sent back, they keep their value.",
        },
        "paths": paths,
        "components": {"schemas": SCHEMAS, "responses": {"Error": error}},
    }


def _operation(route: Route) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", route.path)
    parameters = [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names]
    parameters += [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in QUERIES.get((route.method, route.path), {}).items()
    ]
    body = BODIES[route.method, route.path]
    operation: dict[str, Any] = {
        "operationId": f"{route.answer.__module__.rpartition('.')[2]}_{_name(route.answer)}",
        "summary": (inspect.getdoc(route.answer) or "").partition("\n")[0],
        "tags": [route.path.split("/")[1] or "worker"],
        "parameters": parameters,
        "responses": {code: _response(schema) for code, schema in body.answers.items()} | _ERRORS,
    }
    if body.request is not None:
        operation["requestBody"] = {"required": True, "content": _content(body.request)}
    return operation


def _name(answer: Callable[..., Any]) -> str:
    return str(getattr(answer, "__name__", "answer"))


def _response(schema: str | None) -> dict[str, Any]:
    if schema is None:
        return {"description": "Done; no body."}
    if schema == "text":
        return {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {"description": schema, "content": _content(schema)}


def _content(schema: str) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
