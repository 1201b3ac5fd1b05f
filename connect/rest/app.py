"""Builds the REST application from the routes of all resources and one context."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Final
from weakref import WeakValueDictionary

from aiohttp import ClientSession, TCPConnector, web

from connect.rest.access.audit_log import Audit
from connect.rest.access.worker_signatures import Stamps
from connect.rest.alerts import alerts
from connect.rest.audited import audited
from connect.rest.fairness.client_turns import ClientTurns
from connect.rest.figures import peers
from connect.rest.figures.kafka_watch import watched_kafka
from connect.rest.figures.peers import Peers, scheme
from connect.rest.figures.sampler import SAMPLER, Sampler
from connect.rest.flow import resource as flow
from connect.rest.flow.gathering import flow_from_kafka
from connect.rest.openapi import openapi_route
from connect.rest.resources import (
    backfills,
    connector_state,
    connectors,
    doctor,
    history,
    internal,
    loggers,
    metrics,
    offsets,
    plugins,
    root,
    tasks,
    topics,
    why,
)
from connect.rest.resources import poc as evaluations
from connect.rest.resources.notes import NOTED
from connect.rest.sample import resource as sample
from connect.rest.server.authentication import authentication
from connect.rest.server.author import STAMPS
from connect.rest.server.browser_guard import browsers
from connect.rest.server.connections import CONNECTIONS, counted
from connect.rest.server.context import CONTEXT, RestContext
from connect.rest.server.cors import cross_origin
from connect.rest.server.errors import errors_to_http
from connect.rest.server.forward import CLIENT
from connect.rest.server.request_body import LIMIT_BYTES
from connect.rest.server.request_queues import TURNS, RequestQueues, in_turn
from connect.rest.server.response_headers import response_headers
from connect.rest.server.routing import Route, add_routes
from connect.rest.server.waiting import LARGE
from connect.rest.tls.contexts import client_context
from connect.rest.tls.renewal import Renewal
from connect.rest.ui import site
from connect.rest.ui.frame.error_pages import error_pages

ADMIN_KEY: Final = "admin.listeners"
"""If this key is set, only its listeners serve admin paths; if it is set and empty, no listener does."""
ROUTES: tuple[Route, ...] = tuple(
    route
    for resource in (
        root,
        connectors,
        connector_state,
        history,
        tasks,
        topics,
        why,
        doctor,
        offsets,
        plugins,
        loggers,
        internal,
        metrics,
        backfills,
        evaluations,
        flow,
        sample,
    )
    for route in resource.ROUTES
)


AUDIT: Final = web.AppKey("audit", Audit)


def rest_app(context: RestContext) -> web.Application:
    """Return the application, with the web UI unless the worker's file turns it off."""
    app = _application(context)
    app[connectors.PATCHING] = WeakValueDictionary()
    app[NOTED] = {}
    app.cleanup_ctx.append(_forward_client)
    app.cleanup_ctx.append(_sampled)
    app.cleanup_ctx.append(backfills.backfill_service)
    app.cleanup_ctx.append(flow_from_kafka)
    app.cleanup_ctx.append(evaluations.evaluation_jobs)
    app.cleanup_ctx.append(alerts)
    app.cleanup_ctx.append(watched_kafka)
    app.cleanup_ctx.append(metrics.sent_metrics)
    served = [route for route in ROUTES if not _is_admin(route) or ADMIN_KEY not in context.worker.originals]
    add_routes(app, (*served, openapi_route(served), *peers.ROUTES))
    if context.worker.rest_ui != "off":
        app.cleanup_ctx.append(site.shared)
        add_routes(app, site.ROUTES)
    return app


def admin_app(context: RestContext) -> web.Application:
    """Return the application of listeners that serve `/admin` only."""
    app = _application(context)
    add_routes(app, [route for route in ROUTES if _is_admin(route)])
    return app


def _application(context: RestContext) -> web.Application:
    worker = context.worker
    keep_out = browsers(worker, context.worker_id)
    audit = Audit(worker)
    written_down = audited(audit) if audit.is_kept else None
    around = (
        response_headers(worker), error_pages, keep_out, cross_origin(worker), written_down, authentication(worker),
    )  # fmt: skip
    middlewares = [counted, in_turn, *(one for one in around if one is not None), errors_to_http]
    app = web.Application(middlewares=middlewares, client_max_size=LIMIT_BYTES)
    app[AUDIT] = audit
    app.cleanup_ctx.append(_audited)
    app[CONTEXT] = context
    app[CONNECTIONS] = []
    app[STAMPS] = Stamps()
    app[TURNS] = RequestQueues(worker.rest_connections_max)
    app[LARGE] = ClientTurns()
    return app


def _is_admin(route: Route) -> bool:
    return route.path.startswith("/admin")


async def _audited(app: web.Application) -> AsyncIterator[None]:
    yield
    await asyncio.to_thread(app[AUDIT].close)


async def _forward_client(app: web.Application) -> AsyncIterator[None]:
    worker = app[CONTEXT].worker
    https = any(address.lower().startswith("https:") for address in worker.listeners)
    tls = client_context(worker.originals) if https else None
    renewing = nullcontext() if tls is None else Renewal(worker.originals, tls).running()
    async with renewing, ClientSession(connector=TCPConnector(ssl=tls or True, limit=0)) as client:
        app[CLIENT] = client
        yield


async def _sampled(app: web.Application) -> AsyncIterator[None]:
    context = app[CONTEXT]
    sampler = app[SAMPLER] = Sampler(context.operations.tasks, Peers(context, app[CLIENT], scheme(context.worker)))
    yield
    await sampler.close()
