"""Tells browsers which web pages may use this API (CORS), by `access.control.allow.origin` and `.methods`.

The keys are those of Kafka Connect's server. Answers have headers that permit a browser to show them to a page; the
module `browser_guard` refuses the requests of other pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from connect.api.errors import ConfigError
from connect.rest.server.routing import Answer
from connect.runtime.settings.worker_config import WorkerConfig

METHODS: Final = ("GET", "POST", "HEAD")
"""These methods are allowed if `access.control.allow.methods` is not set."""
HEADERS: Final = "X-Requested-With,Content-Type,Accept,Origin,Authorization"
MAX_AGE_S: Final = 60


def cross_origin(worker: WorkerConfig) -> Middleware | None:
    """Return the middleware that permits pages of other origins; None if no origin is allowed, which is the default.

    ConfigError: an origin is no valid pattern.
    """
    patterns = origin_patterns(worker)
    if not patterns:
        return None
    methods = ",".join(_parts(worker.access_control_allow_methods) or METHODS)

    @web.middleware
    async def allow(request: web.Request, handler: Answer) -> web.StreamResponse:
        answer = await handler(request)
        answer.headers.add(hdrs.VARY, hdrs.ORIGIN)
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or not any(pattern.fullmatch(origin) for pattern in patterns):
            return answer
        answer.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
        if request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers:
            answer.headers[hdrs.ACCESS_CONTROL_ALLOW_METHODS] = methods
            answer.headers[hdrs.ACCESS_CONTROL_ALLOW_HEADERS] = HEADERS
            answer.headers[hdrs.ACCESS_CONTROL_MAX_AGE] = str(MAX_AGE_S)
        return answer

    return allow


def origin_patterns(worker: WorkerConfig) -> list[re.Pattern[str]]:
    """Return the origins that are allowed. ConfigError: one is no valid pattern."""
    return [_pattern(text) for text in _parts(worker.access_control_allow_origin)]


def _parts(text: str | None) -> Sequence[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _pattern(origin: str) -> re.Pattern[str]:
    if origin == "*":
        return re.compile(".*")
    try:
        return re.compile(origin, re.IGNORECASE)
    except re.error as error:
        key = "access.control.allow.origin"
        raise ConfigError(f"Invalid value {origin} for configuration {key}: Invalid regex: {error}", key=key) from error
