"""What the sender of a request may do: judged by the route's least role, and by the connectors that it names.

A route whose path names a connector is judged before it is answered. What a body names its answer asks for by
`require`, before it looks whether there is such a connector.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aiohttp import web

from connect.rest.access.identity import Identity
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError

IDENTITY: Final = web.RequestKey("identity", Identity)
"""Set for each request before it is answered."""
ASKED: Final = web.RequestKey("least_role", Role)
"""The least role of the route that answers."""
ABOUT: Final = web.RequestKey("about_connectors", list[str])
"""The connectors that a request was judged by."""
DENIED: Final = web.RequestKey("denied", bool)
"""Set when the sender lacks a role."""


def judge(request: web.Request, role: Role, connector: str | None) -> None:
    """Let a route begin. HttpError 403: its sender has no such role there, or nowhere where it names no connector."""
    request[ASKED] = role
    request[ABOUT] = [] if connector is None else [connector]
    identity = request[IDENTITY]
    if role is Role.ANYONE:
        return
    allowed = identity.may_somewhere(role) if connector is None else identity.may(role, connector)
    if not allowed:
        raise _denied(request, role, connector)


def require(request: web.Request, *connectors: str) -> None:
    """Go on when the sender has the route's role at all of these connectors. HttpError 403."""
    role = request[ASKED]
    request[ABOUT] += (name for name in connectors if name)
    for name in connectors:
        if not request[IDENTITY].may(role, name):
            raise _denied(request, role, name)


def require_everywhere(request: web.Request) -> None:
    """Go on when the sender has the route's role at all connectors. HttpError 403."""
    role = request[ASKED]
    if not request[IDENTITY].may_everywhere(role):
        raise _denied(request, role, None)


def visible(request: web.Request, connectors: Iterable[str]) -> list[str]:
    """Return those connectors that the sender may view."""
    identity = request[IDENTITY]
    if identity.may_everywhere(Role.VIEWER):
        return list(connectors)
    return [name for name in connectors if identity.may(Role.VIEWER, name)]


def _denied(request: web.Request, role: Role, connector: str | None) -> HttpError:
    request[DENIED] = True
    name = request[IDENTITY].name
    shown = "".join(character for character in name if character.isprintable())[:100] or "Who does not log in"
    place = " for all connectors" if connector is None else f" to connector {connector[:200]}"
    return HttpError(403, f"{shown} may not do this{place}: it takes the role {role.name.lower()}.")
