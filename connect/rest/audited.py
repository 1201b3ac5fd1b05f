"""Logs each request that changes something or was refused, before it is answered."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from connect.api.errors import ConnectError
from connect.rest.access.audit_log import Asked, Audit
from connect.rest.server.author import USER, origin_of
from connect.rest.server.context import context_of
from connect.rest.server.forward import BY_LEADER
from connect.rest.server.rights import ABOUT, BEFORE, config_now
from connect.rest.server.routing import Answer
from connect.rest.server.secrets import changes
from connect.rest.server.state_changes import STATES

_WRITTEN_S: Final = 2.0
"""An answer waits this many seconds until its line is in the topic; then it is sent, and the line is sent later."""


def audited(audit: Audit) -> Middleware:
    """Return the middleware that logs; it has to be outside of those that may refuse a request."""

    @web.middleware
    async def written_down(request: web.Request, handler: Answer) -> web.StreamResponse:
        status = None
        request[STATES] = {}
        try:
            answer = await handler(request)
            status = answer.status
        finally:
            written = audit.note(_asked(request, status))
        if written is not None and status is not None and status < 400:
            await _wait(written)
        return answer

    return written_down


def _asked(request: web.Request, status: int | None) -> Asked:
    states = request[STATES]
    return Asked(
        request.method,
        request.rel_url.raw_path,
        request.get(USER),
        origin_of(request),
        request.get(ABOUT, []),
        status,
        _changes(request),
        BY_LEADER in request,
        states=states,
    )


def _changes(request: web.Request) -> dict[str, Any]:
    """Return the changes of configurations. Secrets are masked even if the worker's answers show them."""
    secrets = replace(context_of(request).secrets, masked=True)
    found = {
        name: changes(before or {}, config_now(request, name) or {}, secrets)
        for name, before in request.get(BEFORE, {}).items()
    }
    return {name: change for name, change in found.items() if any(change.values())}


async def _wait(written: Future[None]) -> None:
    try:
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(written)), _WRITTEN_S)
    except (ConnectError, TimeoutError):
        return  # The audit topic counts and logs lost lines.
