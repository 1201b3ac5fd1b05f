"""Limits the number of requests of one client that the worker works on; its others wait, and may be ended meanwhile.

A request can take as long as the database that its configuration names. So a client that sends hundreds of them has at
most an eighth of a listener's connections at work for changes and an eighth for reads, and keeps nobody else out. A
request has no place while its body arrives, nor while it is a stream of events to a page. Requests with a place go on
one at a time, clients in turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from connect.rest.access.client_network import network_of
from connect.rest.fairness.pacer import Pacer
from connect.rest.server.author import is_replayed, origin_of
from connect.rest.server.connections import GONE, PLACE, Place, awaiting
from connect.rest.server.context import context_of
from connect.rest.server.errors import error_answer
from connect.rest.server.routing import Answer

SHARES: Final = 8
"""A client's reads may occupy one in this many connections of a listener at a time, and its other requests as many."""
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_Key = tuple[str, bool]


class TooManyRequestsError(Exception):
    """Says that too many requests of a client are waiting already."""


@dataclass(slots=True)
class _Line:
    places: asyncio.Semaphore
    requests: int = 0


class RequestQueues:
    """Holds the requests of each client. It is owned by the event loop."""

    def __init__(self, connections_max: int) -> None:
        self._at_once = max(1, connections_max // SHARES)
        self._most = self._at_once + connections_max
        self._lines: dict[_Key, _Line] = {}
        self._pacer = Pacer()

    @asynccontextmanager
    async def turn(self, request: web.Request) -> AsyncIterator[None]:
        """Wait until the worker may work on a request, and set its PLACE. TooManyRequestsError: too many wait."""
        client = network_of(origin_of(request))
        key = (client, request.method in _READS)
        line = self._lines.setdefault(key, _Line(asyncio.Semaphore(self._at_once)))
        if line.requests >= self._most:
            raise TooManyRequestsError
        line.requests += 1
        place = request[PLACE] = Place(line.places, self._pacer, client)
        try:
            with awaiting(request):
                await place.take()
            yield
        finally:
            place.leave()
            line.requests -= 1
            if not line.requests:
                self._lines.pop(key, None)


TURNS: Final = web.AppKey("turns", RequestQueues)


@web.middleware
async def in_turn(request: web.Request, handler: Answer) -> web.StreamResponse:
    """Answer a request when it is its client's turn; do not answer it if the client has gone meanwhile.

    A request that a worker has signed and that comes a second time is refused.
    """
    if is_replayed(request):
        return error_answer(403, "A request that a worker of this cluster signed came twice. Nothing was done now.")
    try:
        async with request.app[TURNS].turn(request):
            if request.transport is None:
                return error_answer(408, GONE)
            return await handler(request)
    except TooManyRequestsError:
        most = context_of(request).worker.rest_connections_max // SHARES
        text = f"More than {most} requests of this client are being answered, and too many wait. Send fewer at a time."
        return error_answer(429, text)
