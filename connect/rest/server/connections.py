"""The connections of a REST listener: how many there may be, and how long one may keep the server waiting.

aiohttp waits for ever for the head of a request. Here each connection has a clock: the head of a request has to come
within seconds, and so has a client to take its answer. Where there are too many connections, the one goes that has
waited longest without a request, so that whoever holds hundreds of them keeps nobody out.
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
"""How long the handshake of TLS may take."""
GONE: Final = "The client did not wait for its turn."
_FRAMING_BYTES: Final = 5 << 18
"""So much may be sent for one request beside its body, as chunks of a byte each keep the event loop busy. It is more
than a body may have: the next request, of which the server has yet to take note, is not taken for that.
"""
_log = logging.getLogger(__name__)


class ConnectionTimeouts(NamedTuple):
    """How long one connection may keep the server waiting."""

    head_s: float = 15.0
    """The head of a request must come in this time, from its first byte or from the connection on."""
    take_s: float = 60.0
    """The client must take some of an answer in this time."""


class Connections:
    """The connections of one listener; makes the protocol of each. Owned by the event loop."""

    def __init__(self, make: Callable[[], asyncio.Protocol], most: int, patience: ConnectionTimeouts) -> None:
        """`make`: the protocol that serves a connection. `most`: so many at a time."""
        self.patience = patience
        self._make = make
        self._most = most
        self._by_transport: dict[asyncio.BaseTransport, _Connection] = {}
        self._waiting: dict[_Connection, None] = {}  # the one that has waited longest is first

    def __call__(self) -> asyncio.Protocol:
        """Return a protocol for a connection that was accepted."""
        return _Connection(self, self._make())

    def admit(self, connection: _Connection, transport: asyncio.BaseTransport) -> None:
        """Count a connection; end one where there are too many."""
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
        """Return the connection of a request; None: it is gone."""
        return self._by_transport.get(request.transport) if request.transport is not None else None


class _Connection(asyncio.Protocol):
    """Passes everything on to the protocol that serves it, and keeps the clock."""

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
        """Take note that the request was answered; the client may ask again when it likes, unless it has begun to."""
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
    """A request's place among those of its client that the server is at work on. Owned by the event loop."""

    def __init__(self, places: asyncio.Semaphore, pacer: Pacer, client: str) -> None:
        """Take a place of these when it is the request's turn."""
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
        """Wait until the requests of others have had their moment: what computes much asks before it does."""
        await self._pacer.take(self._client)

    def leave(self) -> None:
        """Let the client's next request take the place; again is fine."""
        if self._is_taken:
            self._is_taken = False
            self._places.release()


CONNECTIONS: Final = web.AppKey("connections", list[Connections])
"""Holds the connections of every listener of an application."""
CONNECTION: Final = web.RequestKey("connection", _Connection)
PLACE: Final = web.RequestKey("place", Place)


@web.middleware
async def counted(request: web.Request, handler: Answer) -> web.StreamResponse:
    """Tell a connection of its requests."""
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
