"""Tells who sent a request: the user that authenticated, and the address it came from.

For people who read a history.
"""

from __future__ import annotations

import hashlib
import hmac
from contextlib import suppress
from ipaddress import ip_network
from typing import Final
from urllib.parse import quote, unquote

from aiohttp import hdrs, web

from connect.rest.server.context import context_of
from connect.runtime.settings.role_grants import CERTIFICATE

USER: Final = web.RequestKey("user", str)
"""The user whose name and password were right; missing where none are asked for."""
ORIGIN: Final = hdrs.X_FORWARDED_FOR
SIGNATURE: Final = "X-Connect-Forwarded-Signature"
CERTIFIED: Final = "X-Connect-Forwarded-Certificate-User"
"""Names, in a request that was sent on, the user whose certificate the first worker saw."""
_LENGTH: Final = 200


def who(request: web.Request) -> str:
    """Return `ada at 10.1.2.3 (curl/8.5.0)`: user, address and program. A client chooses its program's name itself."""
    program = request.headers.get(hdrs.USER_AGENT, "")
    user = request.get(USER)
    place = f"{user} at {origin_of(request)}" if user else origin_of(request)
    text = f"{place} ({program})" if program else place
    return "".join(character for character in text if character.isprintable())[:_LENGTH]


def asker_of(request: web.Request) -> str:
    """Return whom the worker takes for one who asks: the user, else the client's address, of IPv6 its network."""
    origin = origin_of(request)
    if ":" in origin:
        with suppress(ValueError):
            origin = str(ip_network(f"{origin.partition('%')[0]}/64", strict=False))
    return f"user {user}" if (user := request.get(USER)) else f"address {origin}"


def passed_on(request: web.Request) -> dict[str, str]:
    """Return the headers by which a worker tells the leader where a request came from."""
    origin, user = origin_of(request), request.get(USER, "")
    certified = quote(user) if user.startswith(CERTIFICATE) else ""
    signature = _signature(request, origin, certified)
    named = {CERTIFIED: certified} if certified else {}
    return {ORIGIN: origin} | ({SIGNATURE: signature} | named if signature else {})


def certified_user(request: web.Request) -> str | None:
    """Return the user whose certificate another worker of the cluster saw; None where none says so, and signed it."""
    named = request.headers.get(CERTIFIED)
    return unquote(named) if named and is_passed_on(request) else None


def is_passed_on(request: web.Request) -> bool:
    """Return True when another worker of the cluster has sent a request on, and signed it."""
    said = request.headers.get(ORIGIN)
    return said is not None and "forward" in request.query and is_signed(request, said)


def is_signed(request: web.Request, origin: str) -> bool:
    """Return True when a worker of the cluster has signed a request with the address it says it came from."""
    right = _signature(request, origin, request.headers.get(CERTIFIED, ""))
    return bool(right) and hmac.compare_digest(request.headers.get(SIGNATURE, "").encode(), right.encode())


def signature(key: str, method: str, path: str, origin: str, certified: str = "") -> str:
    """Return what only a worker can write, as the key is in the config topic; empty while there is no key.

    `certified`: the user whose certificate the worker saw, percent-encoded, so that no other text is signed alike.
    """
    text = f"{method} {path} {origin} {certified}" if certified else f"{method} {path} {origin}"
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest() if key else ""


def origin_of(request: web.Request) -> str:
    """Return the client's address: the one that another worker saw, where it sent the request on and signed it."""
    return request.headers[ORIGIN] if is_passed_on(request) else request.remote or "unknown"


def _signature(request: web.Request, origin: str, certified: str) -> str:
    key = context_of(request).operations.worker.session_key
    return signature(key, request.method, request.rel_url.raw_path, origin, certified)
