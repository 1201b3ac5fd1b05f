"""Who sent a request, as far as the request tells. For people who read a history; never a ground to allow anything."""

from __future__ import annotations

from typing import Final

from aiohttp import hdrs, web

ORIGIN: Final = hdrs.X_FORWARDED_FOR
_LENGTH: Final = 200


def origin(request: web.Request) -> str:
    """The client's address; of a request that another worker sent on the address which that worker saw."""
    sent_on = request.headers.get(ORIGIN) if "forward" in request.query else None
    return sent_on or request.remote or "unknown"


def who(request: web.Request) -> str:
    """`10.1.2.3 (curl/8.5.0)`: address and program."""
    program = request.headers.get(hdrs.USER_AGENT, "")
    text = f"{origin(request)} ({program})" if program else origin(request)
    return "".join(character for character in text if character.isprintable())[:_LENGTH]
