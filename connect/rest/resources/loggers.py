"""Serves `/admin/loggers…`: log levels of this worker, or of all workers.

Log levels concern all connectors, so a role at some connectors does not suffice.
"""

from __future__ import annotations

from typing import Any, Literal

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.shapes import Level, Logger
from connect.rest.server.answers import empty_answer, json_answer
from connect.rest.server.context import context_of
from connect.rest.server.json_body import read_texts
from connect.rest.server.rights import require_everywhere
from connect.rest.server.routing import Route, segment
from connect.rest.server.state_changes import tell_change
from connect.rest.server.waiting import finished
from connect.telemetry.log_levels import LEVELS, LOG_LEVELS, LoggerLevel


async def list_loggers(request: web.Request) -> web.Response:
    """Every logger but those that are off."""
    require_everywhere(request)
    return json_answer({name: _json(level) for name, level in LOG_LEVELS.all().items() if level.level != "OFF"})


async def get_logger(request: web.Request) -> web.Response:
    """Return the level of one logger."""
    require_everywhere(request)
    name = segment(request, 3)
    level = LOG_LEVELS.get(name)
    if level is None:
        raise NotFoundError(f"Logger {name} not found.")
    return json_answer(_json(level))


async def set_logger(request: web.Request) -> web.Response:
    """Set a level here (200 with the names it changed) or, with `scope=cluster`, on every worker (204)."""
    require_everywhere(request)
    name = segment(request, 3)
    level = await _level(request)
    if (refusal := LOG_LEVELS.refusal(name)) is not None:
        raise HttpError(400, refusal)
    known = LOG_LEVELS.get(name)
    tell_change(request, name, "level", None if known is None else known.level, level)
    if request.query.get("scope", "worker").lower() != "cluster":
        return json_answer(LOG_LEVELS.set(name, level))
    await finished(request, context_of(request).operations.worker.set_cluster_log_level(name, level))
    return empty_answer(204)


async def _level(request: web.Request) -> str:
    body = await read_texts(request)
    if body is None:
        raise HttpError(500, 'Cannot read the request, because "levelMap" is null')
    given = body.get("level")
    if given is None:
        raise HttpError(400, "Desired 'level' parameter was not specified in request.")
    if not given:
        raise HttpError(500, "Illegal null or empty Level name.")
    if given.upper() not in LEVELS:
        raise NotFoundError(f"invalid log level '{given}'.")
    return given.upper()


def _json(level: LoggerLevel) -> dict[str, Any]:
    return {"level": level.level, "last_modified": level.last_modified_ms}


ROUTES = (
    Route("GET", "/admin/loggers", list_loggers, role=Role.ADMIN, early=True, answers={200: dict[str, Logger]}),
    Route("GET", "/admin/loggers/{logger}", get_logger, role=Role.ADMIN, early=True, answers={200: Logger}),
    Route(
        "PUT", "/admin/loggers/{logger}", set_logger, role=Role.ADMIN, body=Level, answers={200: list[str], 204: None},
        query={"scope": Literal["worker", "cluster"]},
    ),
)  # fmt: skip
