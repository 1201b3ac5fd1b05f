"""Serves `/connectors/{name}/sample`: live rows of a connector before and after each of its transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from connect.api.errors import ConnectError
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.own_shapes import Sample
from connect.rest.server.answers import json_answer
from connect.rest.server.author import asker_of
from connect.rest.server.context import context_of, remaining_s
from connect.rest.server.routing import Route, name_of
from connect.rest.server.waiting import finished

ROWS: Final = 5
ROWS_MAX: Final = 50


async def get_sample(request: web.Request) -> web.Response:
    """Rows that the connector would take now, as they are read and after each transform; nothing is written."""
    return json_answer(await sampled(request, name_of(request), request.query.get("rows", str(ROWS))))


async def sampled(request: web.Request, name: str, rows: str) -> Mapping[str, Any]:
    """Return the sample. NotFoundError: there is no such connector. HttpError 400: `rows` is no number that is allowed;
    409: the rows cannot be read, with the reason.
    """
    if not (rows.isascii() and rows.isdigit() and len(rows) < 4 and 1 <= int(rows) <= ROWS_MAX):
        raise HttpError(400, f"Write rows as a number from 1 to {ROWS_MAX}.")
    context = context_of(request)
    config = {**context.operations.connectors.info(name).config, "name": name}
    timeout_s = min(context.check_timeout_s, remaining_s(request) / 2)
    asked = context.operations.trials.sample(config, int(rows), timeout_s, asker_of(request))
    try:
        return await finished(request, asked, f"reading rows of connector {name}")
    except ConnectError as error:
        why = context.secrets.hide(f"No rows of connector {name} can be shown: {error}", config)
        raise HttpError(409, why) from error


ROUTES = (
    Route(
        "GET", "/connectors/{name}/sample", get_sample, role=Role.OPERATOR, answers={200: Sample}, query={"rows": int}
    ),
)
