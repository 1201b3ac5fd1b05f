"""Answers the calls that Java workers of one group make to each other. Workers here make none, as they use Kafka alone.

Each call is answered as if the caller did not know the session key. So a Java worker that joins by mistake fails with a
clear message.
"""

from __future__ import annotations

from typing import NoReturn

from aiohttp import web

from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.server.routing import Route

SIGNATURE, ALGORITHM = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm"


async def refuse(request: web.Request) -> NoReturn:
    """Refuse a request that only Java workers send each other: 400 without a signature, else 403."""
    signature, algorithm = request.headers.get(SIGNATURE), request.headers.get(ALGORITHM)
    if signature is None or algorithm is None:
        raise HttpError(400, "Internal request missing required signature")
    if algorithm != "HmacSHA256":
        raise HttpError(400, f"Internal request signature algorithm {algorithm} is not allowed; use HmacSHA256")
    raise HttpError(403, "Internal request contained invalid signature.")


ROUTES = (
    Route("POST", "/connectors/{name}/tasks", refuse, role=Role.ANYONE),
    Route("PUT", "/connectors/{name}/fence", refuse, role=Role.ANYONE),
)
