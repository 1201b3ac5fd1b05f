"""Tells who sent a request: the user that logged in, and the address it came from. Histories show both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote, unquote

from aiohttp import ClientHandlerType, ClientMiddlewareType, ClientRequest, ClientResponse, hdrs, web
from yarl import URL

from connect.rest.access.client_network import network_of
from connect.rest.access.worker_signatures import (
    CERTIFIED,
    DIGEST,
    SIGNATURE,
    STAMP,
    WINDOW_S,
    Signable,
    Stamps,
    Verdict,
    digest_of,
    is_same,
)
from connect.rest.server.context import context_of
from connect.runtime.settings.role_grants import CERTIFICATE

USER: Final = web.RequestKey("user", str)
"""Holds the user who has logged in; it is missing if no credentials are asked for."""
ORIGIN: Final = hdrs.X_FORWARDED_FOR
STAMPS: Final = web.AppKey("stamps", Stamps)
_JUDGED: Final = web.RequestKey("verdict", Verdict)
_LENGTH: Final = 200
log = logging.getLogger(__name__)


def who(request: web.Request) -> str:
    """Return user, address and program, as `ada at 10.1.2.3 (curl/8.5.0)`. Clients may name any program."""
    program = request.headers.get(hdrs.USER_AGENT, "")
    user = request.get(USER)
    place = f"{user} at {origin_of(request)}" if user else origin_of(request)
    text = f"{place} ({program})" if program else place
    return "".join(character for character in text if character.isprintable())[:_LENGTH]


def asker_of(request: web.Request) -> str:
    """Return the name that stands for the asker: the user, or else the client's IPv4 address or IPv6 network."""
    return f"user {user}" if (user := request.get(USER)) else f"address {network_of(origin_of(request))}"


def passed_on(request: web.Request, url: URL, to: str, body: bytes) -> dict[str, str]:
    """Return the signed headers that tell another worker, `to`, who sent a request that is forwarded to it."""
    origin, user = origin_of(request), request.get(USER, "")
    certified = quote(user) if user.startswith(CERTIFICATE) else ""
    path, query = url.raw_path, url.raw_query_string
    sent = Signable(request.method, path, query, to, origin, certified, digest_of(body))
    return {ORIGIN: origin} | sent.headers(context_of(request).operations.worker.session_key)


def signing(headers: Callable[[], Mapping[str, str]]) -> ClientMiddlewareType:
    """Return a client middleware that signs a request at each try, with new headers.

    A signature is valid once, and aiohttp sends a request again if a connection that was kept open breaks.
    """

    async def signed(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        request.headers.update(headers())
        return await send(request)

    return signed


def certified_user(request: web.Request) -> str | None:
    """Return the user whose certificate another worker saw; None if no worker names one in a signed request."""
    named = request.headers.get(CERTIFIED)
    return unquote(named) if named and is_passed_on(request) else None


def is_passed_on(request: web.Request) -> bool:
    """Return True if another worker of the cluster has forwarded a request and signed it."""
    return ORIGIN in request.headers and "forward" in request.query and is_signed(request)


def is_signed(request: web.Request) -> bool:
    """Return True if a worker of the cluster has signed a request just now, and it has not come before."""
    return _verdict(request) is Verdict.RIGHT


def is_replayed(request: web.Request) -> bool:
    """Return True if a worker has signed a request, but the same one has come before."""
    return _verdict(request) is Verdict.SEEN


def origin_of(request: web.Request) -> str:
    """Return the client's address; for a signed forwarded request it is the address that the first worker saw."""
    return request.headers[ORIGIN] if is_passed_on(request) else request.remote or "unknown"


def _verdict(request: web.Request) -> Verdict:
    """Judge the signature of a request, once: answering may take longer than the signature is valid."""
    if _JUDGED not in request:
        request[_JUDGED] = _judged(request)
    return request[_JUDGED]


def _judged(request: web.Request) -> Verdict:
    context = context_of(request)
    key, headers = context.operations.worker.session_key, request.headers
    given, stamp = headers.get(SIGNATURE, ""), headers.get(STAMP, "")
    if not (given and key):
        return Verdict.NONE
    path, query = request.rel_url.raw_path, request.rel_url.raw_query_string
    said = (headers.get(name, "") for name in (ORIGIN, CERTIFIED, DIGEST))
    if not is_same(given, Signable(request.method, path, query, context.worker_id, *said).signature(key, stamp)):
        return Verdict.NONE
    verdict = request.app[STAMPS].take(stamp)
    if verdict is Verdict.OLD:
        log.warning(
            "What the worker at %s signed does not count, as it is not of the last %.0f s, or of before this worker "
            "began. The clocks of workers must agree.",
            request.remote,
            WINDOW_S,
        )
    return verdict
