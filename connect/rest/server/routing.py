"""Declares routes of the REST API, adds them to an application, and reads the parts of their paths.

Kafka Connect (JAX-RS) answers in this order: 404, 405, 415, 406; a trailing slash is ignored, OPTIONS lists methods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import hdrs, web

from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.server.context import context_of
from connect.rest.server.rights import judge

JSON: Final = "application/json"
STARTING: Final = "Request cannot be completed because a rebalance is expected: the worker is still starting up."
"""Clients try again when they read `rebalance`; an empty list of connectors would make them create what exists."""
OWN_FLAGS: Final = ("dry_run", "reset_offsets", "force")
"""Kafka Connect lacks these flags. If such a flag is spelt wrong, the request is refused, as the flag may be there to
prevent something.
"""
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """Describes one method of one path, in which `{…}` stands for any one segment.

    The types of bodies, answers and parameters are those that the OpenAPI document describes (`rest/openapi.py`). A
    body must say that it is what the route `consumes`.
    """

    method: str
    path: str
    answer: Answer
    answers: Mapping[int, Any] = field(default_factory=dict)
    """The type of the answer for each HTTP status; None if the answer has no body."""
    body: Any = None
    """The type of the request's body; None if it has none."""
    query: Mapping[str, Any] = field(default_factory=dict)
    """These are the types of the query parameters, by name."""
    produces: str = JSON
    consumes: str = JSON
    early: bool = False
    """This is True if the route is answered even while the worker is still reading its internal topics."""
    flags: Collection[str] = ()
    """The flags of OWN_FLAGS that the route understands."""
    role: Role | None = None
    """The least role that the route requires; see `least_role`. If a route that only reads leaves it out, VIEWER
    counts.
    """

    names_connector: bool = True
    """This is False if a name in the path is not that of a connector; then the handler itself judges the sender."""

    def __post_init__(self) -> None:
        """Raise ValueError if the route changes something and names no role."""
        if self.role is None and self.method != hdrs.METH_GET:
            raise ValueError(f"{self.method} {self.path} changes something, but names no least role.")

    @property
    def least_role(self) -> Role:
        """Return the least role that a sender needs."""
        return Role.VIEWER if self.role is None else self.role


def name_of(request: web.Request) -> str:
    """Return the decoded name in `/connectors/{name}…` or the like; it may hold any character, `/` included."""
    return segment(request, 2)


def task_of(request: web.Request) -> int:
    """Return the task in `/connectors/{name}/tasks/{task}…`. 404 when it is no 32-bit integer, as in Kafka Connect."""
    text = segment(request, 4)
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and -(2**31) <= int(text) < 2**31):
        raise web.HTTPNotFound
    return int(text)


def segment(request: web.Request, place: int) -> str:
    """Return a segment of the path, decoded by itself, so that an encoded `/` or `%` in a name stays in the name."""
    return unquote(request.rel_url.raw_path.split("/")[place], errors="replace")


def flag(request: web.Request, name: str, default: bool = False) -> bool:
    """Return a boolean query parameter as Java reads it: `true` in any case is true, anything else false."""
    text = request.query.get(name)
    return default if text is None else text.lower() == "true"


def _check_own_flags(request: web.Request, understood: Collection[str]) -> None:
    for name, value in request.query.items():
        meant = _MEANT.get(name.replace("_", "").replace("-", "").lower())
        if meant is None:
            continue
        if name != meant or value.lower() not in {"true", "false"}:
            raise HttpError(400, f"Write {meant}=true or {meant}=false instead of {name}={value}. Nothing was done.")
        if meant not in understood and value.lower() == "true":
            raise HttpError(400, f"{request.method} of this path has no {meant}. Nothing was done.")


_MEANT: Final = {name.replace("_", ""): name for name in OWN_FLAGS}


def add_routes(app: web.Application, routes: Iterable[Route]) -> None:
    """Serve the routes, each path with and without a trailing slash, and OPTIONS and HEAD for them."""
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    for path, methods in by_path.items():
        allowed = _allowed(methods)
        for form in {path, path.rstrip("/") + "/"}:
            resource = app.router.add_resource(form.replace("}", ":[^/]+}"))
            resource.add_route(hdrs.METH_OPTIONS, _options(allowed))
            for route in methods:
                served = _served(route)
                resource.add_route(route.method, served)
                if route.method == hdrs.METH_GET:
                    resource.add_route(hdrs.METH_HEAD, served)


def _allowed(routes: Sequence[Route]) -> str:
    methods = [route.method for route in routes]
    heads = [hdrs.METH_HEAD] if hdrs.METH_GET in methods else []
    return ",".join((*heads, *methods, hdrs.METH_OPTIONS))


def _options(allowed: str) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(headers={hdrs.ALLOW: allowed})

    return answer


def _served(route: Route) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        judge(request, route.least_role, _connector(request, route))
        if request.method in {hdrs.METH_PUT, hdrs.METH_POST, hdrs.METH_PATCH}:
            _check_content_type(request, route)
        if not _accepts(request, route.produces):
            raise web.HTTPNotAcceptable
        if request.method not in {hdrs.METH_GET, hdrs.METH_HEAD}:
            _check_own_flags(request, route.flags)
        if not route.early:
            operations = context_of(request).operations
            if not operations.worker.started:
                raise HttpError(409, STARTING)
            operations.worker.expect_work()
        return await route.answer(request)

    return answer


def _connector(request: web.Request, route: Route) -> str | None:
    """Return the connector that the address of a request names; None if it names none."""
    if route.path.startswith("/connectors/{name}"):
        return name_of(request)
    return (request.query.get("name") or None) if route.names_connector and route.path.startswith("/ui") else None


def _check_content_type(request: web.Request, route: Route) -> None:
    given = request.headers.get(hdrs.CONTENT_TYPE)
    if given is None and not (route.body is not None and request.can_read_body):
        return
    if given is None or given.partition(";")[0].strip().lower() != route.consumes:
        raise web.HTTPUnsupportedMediaType


def _accepts(request: web.Request, produced: str) -> bool:
    wanted = request.headers.getall(hdrs.ACCEPT, [])
    kinds = [part.split(";") for value in wanted for part in value.split(",") if part.strip()]
    if not kinds:
        return True
    fits = {"*/*", produced, f"{produced.partition('/')[0]}/*"}
    return any(kind.strip().lower() in fits and not _refused(parameters) for kind, *parameters in kinds)


def _refused(parameters: Sequence[str]) -> bool:
    return any(p.replace(" ", "").rstrip("0").rstrip(".") == "q=" or p.strip() == "q=0" for p in parameters)


def conflict() -> HttpError:
    """Return the 409 that makes clients try again."""
    return HttpError(409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
