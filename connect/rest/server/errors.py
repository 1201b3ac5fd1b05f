"""Turns exceptions into answers, all of the form `{"error_code": <status>, "message": <text>}`."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from connect.api.errors import ConfigError, ConnectError
from connect.cluster.model.request_errors import RequestError
from connect.rest.errors.client_errors import CLIENT_ERRORS, first_line
from connect.rest.errors.http_error import status_of
from connect.rest.server.answers import json_answer
from connect.rest.server.context import ENDS_AT, context_of
from connect.rest.server.forward import forwarding

log = logging.getLogger(__name__)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
_REASONS = {413: "Request Entity Too Large", 414: "Request-URI Too Long", 416: "Requested Range Not Satisfiable"}
"""These are Java's names of statuses that Python 3.13 names otherwise, as RFC 9110 has renamed them."""


@web.middleware
async def errors_to_http(request: web.Request, handler: Answer) -> web.StreamResponse:
    """Start the request's clock, forward requests that only the leader may answer, and turn errors into answers."""
    request[ENDS_AT] = time.monotonic() + context_of(request).request_timeout_s
    try:
        return await forwarding(request, handler)
    except RequestError as error:
        return error_answer(status_of(error), error.message)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        response = error_answer(error.status, f"HTTP {error.status} {_REASONS.get(error.status, error.reason)}")
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    except ConfigError as error:
        return error_answer(400, str(error))
    except ConnectError as error:
        return error_answer(500, str(error))
    except CLIENT_ERRORS as error:
        log.info("%s %s was given up by its client: %s", request.method, request.rel_url.raw_path, first_line(error))
        return error_answer(400, "The request did not arrive whole.")
    except Exception as error:
        log.exception("%s %s failed.", request.method, request.rel_url.raw_path)
        text = f"The worker failed with {type(error).__name__}; its log has the trace."
        return error_answer(500, text)


def error_answer(status: int, message: str) -> web.Response:
    """Return an error answer in the form of Kafka Connect."""
    return json_answer({"error_code": status, "message": message}, status)
