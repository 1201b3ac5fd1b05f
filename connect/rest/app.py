"""The REST application: every resource's routes over one context."""

from __future__ import annotations

from collections.abc import AsyncIterator
from weakref import WeakValueDictionary

from aiohttp import ClientSession, web

from connect.rest import (
    connector_state,
    connectors,
    history,
    internal,
    loggers,
    metrics,
    offsets,
    plugins,
    root,
    tasks,
    topics,
)
from connect.rest.context import CONTEXT, RestContext
from connect.rest.errors import errors_to_http
from connect.rest.forward import CLIENT
from connect.rest.json_body import BODY_LIMIT_BYTES
from connect.rest.openapi import openapi_route
from connect.rest.routing import Route, add_routes
from connect.runtime.worker_config import WorkerConfig

ROUTES: tuple[Route, ...] = tuple(
    route
    for resource in (
        root,
        connectors,
        connector_state,
        history,
        tasks,
        topics,
        offsets,
        plugins,
        loggers,
        internal,
        metrics,
    )
    for route in resource.ROUTES
)


def rest_app(context: RestContext) -> web.Application:
    """The application; further routes (the web UI) may be added before it is served."""
    app = web.Application(middlewares=[errors_to_http], client_max_size=BODY_LIMIT_BYTES)
    app[CONTEXT] = context
    app[connectors.PATCHING] = WeakValueDictionary()
    app.cleanup_ctx.append(_forward_client)
    served = [route for route in ROUTES if not route.path.startswith("/admin") or _serves_admin(context.worker)]
    add_routes(app, (*served, openapi_route(served)))
    return app


def _serves_admin(worker: WorkerConfig) -> bool:
    """An empty `admin.listeners` switches the admin paths off; left out, they are on every listener."""
    return worker.originals.get("admin.listeners", "all").strip() != ""


async def _forward_client(app: web.Application) -> AsyncIterator[None]:
    async with ClientSession() as client:
        app[CLIENT] = client
        yield
