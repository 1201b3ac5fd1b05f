"""Serves `GET /metrics`: the worker's figures in Prometheus' text format."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from connect.cluster.model.connector_values import ConnectorInfo
from connect.cluster.model.request_errors import NotFoundError
from connect.cluster.model.statuses import ConnectorStatus
from connect.rest.access.identity import UNASKED, Identity
from connect.rest.access.role import Role
from connect.rest.figures.backfill_figures import backfill_figures
from connect.rest.figures.kafka_watch import KAFKA_WATCH
from connect.rest.jobs.alert_watch import ALERTING
from connect.rest.resources.backfills import BACKFILL_WATCH, has_role
from connect.rest.server.context import CONTEXT, RestContext, context_of
from connect.rest.server.rights import IDENTITY
from connect.rest.server.routing import Route
from connect.telemetry.exposition import exposition
from connect.telemetry.metric_families import ConnectorStates, WorkerFigures, families
from connect.telemetry.otlp_metrics import is_sent, meter_provider

TEXT = "text/plain"
_LAST_SEND_MS: Final = 3000.0
"""A worker that ends has this time to send its last metrics."""


async def scrape(request: web.Request) -> web.Response:
    """Return the metrics of this worker now, in Prometheus' text format."""
    alerts = request.app[ALERTING].outbox.counts() if ALERTING in request.app else {}
    kafka = request.app[KAFKA_WATCH].known
    jobs = [job for job in request.app[BACKFILL_WATCH].known if has_role(request, Role.VIEWER, job["spec"])]
    context, identity = context_of(request), request[IDENTITY]

    def text() -> bytes:
        found = _figures(context, identity)
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        worker = {**found.worker, **kafka}
        own = replace(found, alerts=alerts, worker=worker, backfills=backfill_figures(jobs))
        return exposition(families(own)) + generate_latest(registry)

    # Making the text takes some hundredths of a second with hundreds of tasks, so another thread does it.
    response = web.Response(body=await asyncio.to_thread(text))
    response.headers["Content-Type"] = f"{TEXT}; version=0.0.4; charset=utf-8"
    return response


async def sent_metrics(app: web.Application) -> AsyncIterator[None]:
    """Send this worker's metrics by OpenTelemetry's protocol, where the environment asks for that."""
    if not is_sent():
        yield
        return
    context, kafka, jobs = app[CONTEXT], app[KAFKA_WATCH], app[BACKFILL_WATCH]

    def figures() -> WorkerFigures:
        found = _task_figures(context, UNASKED)
        return replace(found, worker={**found.worker, **kafka.known}, backfills=backfill_figures(jobs.known))

    provider = meter_provider(f"connect-{context.worker.group_id}", context.worker_id, figures)
    yield
    await asyncio.to_thread(provider.shutdown, _LAST_SEND_MS)


def _figures(context: RestContext, identity: Identity) -> WorkerFigures:
    operations = context.operations
    about = {
        "version": context.version,
        "commit": context.commit,
        "kafka_cluster_id": operations.worker.kafka_cluster_id,
        "group_id": context.worker.group_id,
    }
    found = _task_figures(context, identity)
    return replace(found, about=about, connectors=dict(_connectors(context, identity)), leader=operations.worker.leader)


def _task_figures(context: RestContext, identity: Identity) -> WorkerFigures:
    operations = context.operations
    named = ((*name.rpartition("-")[::2], figures) for name, figures in operations.tasks.figures().items())
    tasks = {(name, task): figures for name, task, figures in named if identity.may(Role.VIEWER, name)}
    return WorkerFigures({}, tasks, worker=operations.worker.figures())


def _connectors(context: RestContext, identity: Identity) -> Iterator[tuple[str, ConnectorStates]]:
    for name in context.operations.connectors.names():
        if not identity.may(Role.VIEWER, name):
            continue
        try:
            status = context.operations.connectors.status(name)
            info = context.operations.connectors.info(name)
        except NotFoundError:
            continue
        yield name, _states(status, info, context.worker_id)


def _states(status: ConnectorStatus, info: ConnectorInfo, worker_id: str) -> ConnectorStates:
    return ConnectorStates(
        status.connector.state.lower(),
        {str(n): task.state.lower() for n, task in status.tasks.items() if worker_id in {"", task.worker_id}},
        here=worker_id in {"", status.connector.worker_id},
        kind=status.type,
        plugin=info.config.get("connector.class", ""),
        version=status.connector.version or "",
    )


ROUTES = (Route("GET", "/metrics", scrape, produces=TEXT, early=True, answers={200: str}),)
