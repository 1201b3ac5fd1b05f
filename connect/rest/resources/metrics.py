"""`GET /metrics`: the worker's figures in Prometheus' text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric

from connect.cluster.model.request_errors import NotFoundError
from connect.cluster.model.statuses import ConnectorStatus
from connect.rest.server.context import RestContext, context_of
from connect.rest.server.routing import Route
from connect.telemetry.metrics import ConnectorStates, WorkerFigures, families

TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class WorkerCollector:
    """Reads the worker's figures at each scrape."""

    context: RestContext

    def collect(self) -> Iterator[Metric]:
        """All families of metrics, for the Prometheus client."""
        return families(_figures(self.context))


async def scrape(request: web.Request) -> web.Response:
    """The metrics of this worker now, in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(WorkerCollector(context_of(request)))
    ProcessCollector(registry=registry)
    response = web.Response(body=generate_latest(registry))
    response.headers["Content-Type"] = f"{TEXT}; version=0.0.4; charset=utf-8"
    return response


def _figures(context: RestContext) -> WorkerFigures:
    operations = context.operations
    about = {
        "version": context.version,
        "commit": context.commit,
        "kafka_cluster_id": operations.worker.kafka_cluster_id,
        "group_id": context.worker.group_id,
    }
    tasks = {
        (name[: name.rindex("-")], name[name.rindex("-") + 1 :]): v for name, v in operations.tasks.figures().items()
    }
    return WorkerFigures(about, tasks, dict(_connectors(context)))


def _connectors(context: RestContext) -> Iterator[tuple[str, ConnectorStates]]:
    for name in context.operations.connectors.names():
        try:
            status = context.operations.connectors.status(name)
        except NotFoundError:
            continue
        yield name, _states(status, context.worker_id)


def _states(status: ConnectorStatus, worker_id: str) -> ConnectorStates:
    tasks = [task for task in status.tasks.values() if worker_id in {"", task.worker_id}]
    here = worker_id in {"", status.connector.worker_id}
    return ConnectorStates(status.connector.state.lower(), Counter(task.state.lower() for task in tasks), here)


ROUTES = (Route("GET", "/metrics", scrape, produces=TEXT, early=True, answers={200: str}),)
