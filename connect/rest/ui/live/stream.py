"""Sends the live part of a page as server-sent events: the server draws it again and again, and sends it if it
differs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final

import orjson
from aiohttp import hdrs, web

from connect.cluster.model.request_errors import RequestError
from connect.rest.errors.client_errors import CLIENT_ERRORS
from connect.rest.errors.http_error import HttpError
from connect.rest.figures.sample_window import SampleWindow
from connect.rest.figures.sampler import SAMPLER
from connect.rest.server.connections import PLACE
from connect.rest.server.rights import IDENTITY

EVENTS: Final = "text/event-stream"
STREAMS_MAX: Final = 64
"""If more pages are open, the others show what they were loaded with: REST needs connections, too."""
_OPEN: Final = web.AppKey("open_streams", set[web.StreamResponse])
Draw = Callable[[web.Request, SampleWindow], Awaitable[str]]


def prepare(app: web.Application) -> None:
    """Prepare the application: no stream is open yet."""
    app[_OPEN] = set()


async def stream(request: web.Request, draw: Draw) -> web.StreamResponse:
    """Send what `draw` returns for each new sample, until the page is closed, its subject is gone or the login has
    ended.
    """
    streams = request.app[_OPEN]
    if len(streams) >= STREAMS_MAX:
        raise HttpError(503, f"{STREAMS_MAX} pages are live already; load this one again to see what is new.")
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: EVENTS, hdrs.CACHE_CONTROL: "no-store"})
    response.headers["X-Accel-Buffering"] = "no"
    await response.prepare(request)
    if request.method == hdrs.METH_HEAD:
        return response
    streams.add(response)
    request[
        PLACE
    ].leave()  # streams have a limit of their own, and the client's other requests must not wait for its pages
    try:
        await _send(request, response, draw)
    except CLIENT_ERRORS:
        pass  # The page was closed.
    finally:
        streams.discard(response)
    return response


async def _send(request: web.Request, response: web.StreamResponse, draw: Draw) -> None:
    last = None
    async with aclosing(request.app[SAMPLER].looks()) as looks:
        async for look in looks:
            if request[IDENTITY].has_ended():
                await response.write(_event("gone", "Your login has ended: load the page again."))
                return
            await request[PLACE].go_on()  # a new sample wakes all streams at once
            try:
                drawn = await draw(request, look)
            except RequestError as error:
                await response.write(_event("gone", error.message))
                return
            await response.write(b": the same\n\n" if drawn == last else _event("live", drawn))
            last = drawn


def _event(kind: str, text: str) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), orjson.dumps(text))
