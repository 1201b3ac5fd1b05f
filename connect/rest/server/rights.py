"""Judges if the sender of a request may do it, by the least role of the route and by the connectors that it names.

If the path of a route names a connector, the request is judged before its handler runs. For connectors that a body
names, the handler calls `require`, before it looks if they exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError
from connect.rest.access.audit_log import READS
from connect.rest.access.identity import Identity
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.server.context import context_of

IDENTITY: Final = web.RequestKey("identity", Identity)
"""Holds the sender of a request; it is set before the request is answered."""
ASKED: Final = web.RequestKey("least_role", Role)
"""Holds the least role that the route of a request requires."""
ABOUT: Final = web.RequestKey("about_connectors", list[str])
"""Holds the connectors for which the rights of a request were judged."""
BEFORE: Final = web.RequestKey("configs_before", dict[str, Mapping[str, str] | None])
"""Holds the configurations of those connectors before the request; None for one that did not exist."""
DENIED: Final = web.RequestKey("denied", bool)
"""The sender of the request lacks a role if this is set."""


def judge(request: web.Request, role: Role, connector: str | None) -> None:
    """Do nothing if the sender has the role at the connector, or for None at any connector. HttpError 403: the sender
    lacks the role.
    """
    request[ASKED] = role
    request[ABOUT], request[BEFORE] = [], {}
    _note(request, () if connector is None else (connector,))
    identity = request[IDENTITY]
    if role is Role.ANYONE:
        return
    if connector is None and not identity.may_somewhere(role):
        raise _denied(request, role, "may do this to no connector")
    if connector is not None and not identity.may(role, connector):
        raise _denied(request, role, _not_to(connector))


def require(request: web.Request, *connectors: str) -> None:
    """Do nothing if the sender has the route's role at all of these connectors. HttpError 403: the sender lacks it."""
    role = request[ASKED]
    _note(request, connectors)
    for name in connectors:
        if not request[IDENTITY].may(role, name):
            raise _denied(request, role, _not_to(name))


def require_everywhere(request: web.Request) -> None:
    """Do nothing if the sender has the route's role at all connectors. HttpError 403: the sender lacks it."""
    role = request[ASKED]
    if not request[IDENTITY].may_everywhere(role):
        raise _denied(request, role, "may not do this for all connectors")


def visible(request: web.Request, connectors: Iterable[str]) -> list[str]:
    """Return those connectors that the sender may view."""
    identity = request[IDENTITY]
    if identity.may_everywhere(Role.VIEWER):
        return list(connectors)
    return [name for name in connectors if identity.may(Role.VIEWER, name)]


def config_now(request: web.Request, name: str) -> Mapping[str, str] | None:
    """Return a connector's configuration, which may hold secrets; None if there is no such connector."""
    try:
        return context_of(request).operations.connectors.info(name).config
    except NotFoundError:
        return None


def _note(request: web.Request, connectors: Iterable[str]) -> None:
    for name in filter(None, connectors):
        request[ABOUT].append(name)
        if request.method not in READS and name not in request[BEFORE]:
            request[BEFORE][name] = config_now(request, name)


def _not_to(connector: str) -> str:
    place = f"connector {connector[:200]}" if connector else "a connector without a name"
    return f"may not do this to {place}"


def _denied(request: web.Request, role: Role, what: str) -> HttpError:
    """Mark the request as denied, and return the error. `what` says what its sender may not do."""
    request[DENIED] = True
    name = request[IDENTITY].name
    shown = "".join(character for character in name if character.isprintable())[:100] or "Who does not log in"
    return HttpError(403, f"{shown} {what}: it takes the role {role.name.lower()}.")
