"""Serves `GET /openapi.json`: the description of this API, made from its routes and the types that they declare."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal

from aiohttp import web
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from connect.rest.resources.shapes import Error
from connect.rest.server.answers import json_answer
from connect.rest.server.context import context_of
from connect.rest.server.routing import JSON, Route

_ERRORS: Final = {"default": {"$ref": "#/components/responses/Error"}}
_Asked = tuple[int, Literal["validation"], TypeAdapter[Any]]
_REFERENCE: Final = "#/components/schemas/{model}"


def openapi_route(routes: Iterable[Route]) -> Route:
    """Return the route that describes these routes."""
    described = tuple(routes)
    # The document takes a while to make, and clients that ask for it repeatedly must not delay other requests.
    document = cache(lambda version: openapi_document(described, version))

    async def answer(request: web.Request) -> web.Response:
        return json_answer(document(context_of(request).version))

    return Route("GET", "/openapi.json", answer, early=True)


def openapi_document(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """Return an OpenAPI 3.1 document."""
    public = tuple(route for route in routes if not route.answer.__module__.endswith(".internal"))
    schema_of, definitions = _schemas(public)
    paths: dict[str, dict[str, Any]] = {}
    for route in public:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    error = {"description": "What went wrong.", "content": {JSON: {"schema": schema_of(Error)}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Connect for Kafka",
            "version": version,
            "description": "Kafka Connect's REST API. Secrets appear as [hidden]; sent back, they keep their value.",
        },
        "paths": paths,
        "components": {"schemas": definitions, "responses": {"Error": error}},
    }


class _Schemas(GenerateJsonSchema):
    """Makes schemas whose members have no titles, as titles would only repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False


def _schemas(routes: Iterable[Route]) -> tuple[Callable[[Any], Any], Mapping[str, Any]]:
    """Return a function that gives the schema of a declared type, and the named schemas that these refer to."""
    declared: list[Any] = [Error]
    for route in routes:
        declared += [*route.answers.values(), route.body, *route.query.values()]
    kinds = [kind for at, kind in enumerate(declared) if kind is not None and kind not in declared[:at]]
    asked: list[_Asked] = [(at, "validation", TypeAdapter(kind)) for at, kind in enumerate(kinds)]
    found, whole = TypeAdapter.json_schemas(asked, ref_template=_REFERENCE, schema_generator=_Schemas)
    return lambda kind: found[kinds.index(kind), "validation"], whole.get("$defs", {})


def _operation(route: Route, schema_of: Callable[[Any], Any]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", route.path)
    parameters = [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names]
    parameters += [
        {"name": name, "in": "query", "required": False, "schema": schema_of(kind)}
        for name, kind in route.query.items()
    ]
    operation: dict[str, Any] = {
        "operationId": f"{route.answer.__module__.rpartition('.')[2]}_{_name(route.answer)}",
        "summary": (inspect.getdoc(route.answer) or "").partition("\n")[0],
        "tags": [route.path.split("/")[1] or "worker"],
        "parameters": parameters,
        "responses": {str(status): _response(route, kind, schema_of) for status, kind in route.answers.items()}
        | _ERRORS,
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schema_of(route.body)}}}
    return operation


def _name(answer: Callable[..., Any]) -> str:
    return str(getattr(answer, "__name__", "answer"))


def _response(route: Route, kind: Any, schema_of: Callable[[Any], Any]) -> dict[str, Any]:
    if kind is None:
        return {"description": "Done; no body."}
    if kind is str:
        return {"description": "Text.", "content": {route.produces: {"schema": {"type": "string"}}}}
    return {"description": getattr(kind, "__name__", "JSON."), "content": {JSON: {"schema": schema_of(kind)}}}
