"""Limits the connections of a REST listener, and how long one may keep the server waiting.

aiohttp waits for the head of a request without limit. Here each connection has a clock: the head of a request has to
come within seconds, and a client has to take its answer within a time. If there are too many connections, the one that
has waited longest without a request is ended. So a client that holds hundreds of them keeps nobody out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from aiohttp import StreamReader, web

from connect.rest.fairness.pacer import Pacer
from connect.rest.server.routing import Answer

TLS_S: Final = 10.0
"""The TLS handshake may take this many seconds."""
GONE: Final = "The client did not wait for its turn."
_FRAMING_BYTES: Final = 5 << 18
"""This many bytes may be sent for one request beside its body, as chunks of one byte each keep the event loop busy.

It is more than the limit of a body, so that the next request, which the server has not noticed yet, does not exceed it.
"""
_log = logging.getLogger(__name__)


class ConnectionTimeouts(NamedTuple):
    """Says how long one connection may keep the server waiting."""

    head_s: float = 15.0
    """The head of a request must come within this many seconds of its first byte or of the connection."""
    take_s: float = 60.0
    """The client must take a part of an answer within this many seconds."""


class Connections:
    """Keeps the connections of one listener, and makes their protocols. It is owned by the event loop."""

    def __init__(self, make: Callable[[], asyncio.Protocol], most: int, patience: ConnectionTimeouts) -> None:
        """Take `make`, which makes the protocol of a connection, and `most`, the number of connections at a time."""
        self.patience = patience
        self._make = make
        self._most = most
        self._by_transport: dict[asyncio.BaseTransport, _Connection] = {}
        self._waiting: dict[_Connection, None] = {}  # The one that has waited longest is first.

    def __call__(self) -> asyncio.Protocol:
        """Return a protocol for a connection that was accepted."""
        return _Connection(self, self._make())

    def admit(self, connection: _Connection, transport: asyncio.BaseTransport) -> None:
        """Count a connection; end one if there are too many."""
        self._by_transport[transport] = connection
        self.waits(connection)
        if len(self._by_transport) > self._most:
            longest = next(iter(self._waiting))
            _log.info("A connection was ended: there are more than rest.connections.max=%d.", self._most)
            longest.end()

    def forget(self, connection: _Connection, transport: asyncio.BaseTransport) -> None:
        """Take note that a connection has ended."""
        self._by_transport.pop(transport, None)
        self._waiting.pop(connection, None)

    def waits(self, connection: _Connection) -> None:
        """Take note that the server waits for this client."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = None

    def works(self, connection: _Connection) -> None:
        """Take note that the client waits for the server."""
        self._waiting.pop(connection, None)

    def of(self, request: web.Request) -> _Connection | None:
        """Return the connection of a request; None if it is gone."""
        return self._by_transport.get(request.transport) if request.transport is not None else None


class _Connection(asyncio.Protocol):
    """Passes all events of a connection on to the protocol that serves it, and keeps the clock."""

    def __init__(self, all_: Connections, inner: asyncio.Protocol) -> None:
        self._all = all_
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._head_clock: asyncio.TimerHandle | None = None
        self._take_clock: asyncio.TimerHandle | None = None
        self._at_work = False
        self._body: StreamReader | None = None
        self._received_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock: a first request has to come."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._all.admit(self, transport)
        self._start_head_clock()
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Start the clock with the first bytes of a request, and pass the bytes on, unless few of them are its body."""
        self._received_bytes += len(data)
        if self._body is not None and self._received_bytes - self._body.total_bytes > _FRAMING_BYTES + len(data):
            self.end()
            return
        if not self._at_work and self._head_clock is None:
            self._start_head_clock()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Take note that the client sends no more."""
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        for clock in (self._head_clock, self._take_clock):
            if clock is not None:
                clock.cancel()
        if self._transport is not None:
            self._all.forget(self, self._transport)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Take note that the client does not take its answer."""
        self._take_clock = asyncio.get_running_loop().call_later(self._all.patience.take_s, self.end)
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Take note that the client takes its answer again."""
        if self._take_clock is not None:
            self._take_clock.cancel()
        self._inner.resume_writing()

    def end(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def begin_request(self, body: StreamReader) -> None:
        """Take note that a request's head has come, and that its body is on the way."""
        self._at_work = True
        self._body = body
        self._received_bytes = body.total_bytes
        if self._head_clock is not None:
            self._head_clock.cancel()
            self._head_clock = None
        self._all.works(self)

    def end_request(self) -> None:
        """Take note that the request was answered. The clock stops, unless the client has begun the next request."""
        self._at_work = False
        self._all.waits(self)

    @contextmanager
    def awaits(self) -> Iterator[None]:
        """Count the time inside as the client's: the server waits for the request's body, or for its turn."""
        self._all.waits(self)
        try:
            yield
        finally:
            self._all.works(self)

    def _start_head_clock(self) -> None:
        self._head_clock = asyncio.get_running_loop().call_later(self._all.patience.head_s, self.end)


class Place:
    """Holds a request's place among those of its client that the server works on. It is owned by the event loop."""

    def __init__(self, places: asyncio.Semaphore, pacer: Pacer, client: str) -> None:
        """Take the places of a client; the request takes one of them when it is its turn."""
        self._places = places
        self._pacer = pacer
        self._client = client
        self._is_taken = False

    async def take(self) -> None:
        """Wait for the request's turn."""
        await self._places.acquire()
        self._is_taken = True
        await self.go_on()

    async def go_on(self) -> None:
        """Wait until requests of others could compute. It is called before long computations."""
        await self._pacer.take(self._client)

    def leave(self) -> None:
        """Give the place to the client's next request. It may be called again."""
        if self._is_taken:
            self._is_taken = False
            self._places.release()


CONNECTIONS: Final = web.AppKey("connections", list[Connections])
"""Holds the connections of every listener of an application."""
CONNECTION: Final = web.RequestKey("connection", _Connection)
PLACE: Final = web.RequestKey("place", Place)


@web.middleware
async def counted(request: web.Request, handler: Answer) -> web.StreamResponse:
    """Tell the connection when a request begins and when it is answered."""
    connection = next(filter(None, (one.of(request) for one in request.app[CONNECTIONS])), None)
    if connection is None:
        return await handler(request)
    connection.begin_request(request.content)
    request[CONNECTION] = connection
    try:
        return await handler(request)
    finally:
        connection.end_request()


@contextmanager
def awaiting(request: web.Request) -> Iterator[None]:
    """Count the time inside as the client's: the server waits for this request's body, or for its turn."""
    connection = request.get(CONNECTION)
    if connection is None:
        yield
        return
    with connection.awaits():
        yield
