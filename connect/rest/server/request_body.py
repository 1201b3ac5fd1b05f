"""Reads the body of a request, and limits its time, its size and its encodings."""

from __future__ import annotations

import asyncio
import zlib
from typing import Final

from aiohttp import hdrs, web

from connect.rest.access.worker_signatures import DIGEST, digest_of
from connect.rest.errors.http_error import HttpError
from connect.rest.server.author import is_passed_on
from connect.rest.server.connections import GONE, PLACE, awaiting

LIMIT_BYTES: Final = 1 << 20
"""No body may be longer than this, decompressed."""
ARRIVE_S: Final = 30.0
"""A body may take this many seconds to arrive."""
_WINDOWS: Final = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


async def body_of(request: web.Request) -> bytes:
    """Return the body, decompressed.

    HttpError 403: it is not the body that a worker has signed; 408: it comes too slowly; 413: it is too long; 415: its
    encoding is not supported.
    """
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "identity").strip().lower()
    if encoding not in {"identity", "", *_WINDOWS}:
        raise HttpError(415, f"Content-Encoding {encoding[:40]} is not known: send identity, gzip or deflate.")
    try:
        data = await request.read() if request.content.is_eof() else await _arriving(request)
    except TimeoutError:
        raise HttpError(408, f"The body did not arrive within {ARRIVE_S:.0f} s.") from None
    body = _decompressed(data, _WINDOWS[encoding]) if encoding in _WINDOWS else data
    if is_passed_on(request) and digest_of(body) != request.headers.get(DIGEST):
        raise HttpError(403, "The body is not the one that a worker of this cluster has signed. Nothing was done.")
    return body


async def _arriving(request: web.Request) -> bytes:
    """Read a body that has not come yet. Other requests of its client go on meanwhile; then it waits for its turn."""
    place = request[PLACE]
    with awaiting(request):
        place.leave()
        async with asyncio.timeout(ARRIVE_S):
            data = await request.read()
        await place.take()
    if request.transport is None:
        raise HttpError(408, GONE)
    return data


def _decompressed(data: bytes, window: int) -> bytes:
    stream = zlib.decompressobj(window)
    try:
        whole = stream.decompress(data, LIMIT_BYTES + 1)
    except zlib.error:
        raise HttpError(400, "The body is not compressed as its Content-Encoding says.") from None
    if len(whole) > LIMIT_BYTES:
        raise HttpError(413, "HTTP 413 Request Entity Too Large")
    if not stream.eof:
        raise HttpError(400, "The compressed body ends too early.")
    return whole
