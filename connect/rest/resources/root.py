"""Serves `GET /`, `GET /health` and `GET /health/ready`."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from connect.rest.access.role import Role
from connect.rest.resources.shapes import Health, Readiness, Server
from connect.rest.server.answers import json_answer
from connect.rest.server.authentication import UNKNOWN
from connect.rest.server.context import RestContext, context_of
from connect.rest.server.rights import visible
from connect.rest.server.routing import Route
from connect.rest.server.waiting import WaitTimeoutError, stage_text, within

OUT = (
    "Worker has lost its place in the group of workers, so its tasks run on others: the brokers do not hear it, or its "
    "rights were taken. It joins again by itself."
)
CUT_OFF = (
    "No Kafka broker hears this worker, so it has ended its tasks: another worker may have been given them. They go on "
    "by themselves once Kafka is reached."
)


async def root(request: web.Request) -> web.Response:
    """The version of this server and its Kafka cluster's id; answered before the worker has started, too."""
    context = context_of(request)
    cluster = context.operations.worker.kafka_cluster_id
    return json_answer({"version": context.version, "commit": context.commit, "kafka_cluster_id": cluster})


async def health(request: web.Request) -> web.Response:
    """200 when the herder answers, 503 while it starts, 500 when it does not in time or the worker lost its group.

    With 200 come the tasks of the cluster, if any, that should run and do not. A client without credentials, where
    there are users, is told the status alone.
    """
    code, answer = await _health(context_of(request))
    if UNKNOWN in request:
        return _status_alone(answer["status"], code)
    if overdue := answer.pop("overdue_tasks", None):
        shown = set(visible(request, {task["connector"] for task in overdue}))
        tasks = [task for task in overdue if task["connector"] in shown]
        answer |= {"overdue_tasks": tasks} if tasks else {}
    return json_answer(answer, code)


async def ready(request: web.Request) -> web.Response:
    """200 when the worker has read its topics to their end and has a place in the group, 503 before and without it.

    A balancer sends requests by this answer, and an upgrade waits for it before it ends the next worker.
    """
    worker = context_of(request).operations.worker
    code, status = (200, "ready") if worker.is_ready else (503, "not ready")
    if UNKNOWN in request:
        return _status_alone(status, code)
    if worker.is_ready:
        return json_answer(_said(status, "Worker has read its topics and has a place in the group."), code)
    lost = OUT if worker.is_out else CUT_OFF if worker.is_cut_off else stage_text(worker.stage)
    return json_answer(
        _said(status, f"Worker is not ready. {worker.kafka_trouble or ''} {lost}".replace("  ", " ")), code
    )


def _status_alone(status: str, code: int) -> web.Response:
    return json_answer(_said(status, f"Worker is {status}. Whoever logs in is told more."), code)


async def _health(context: RestContext) -> tuple[int, dict[str, Any]]:
    operations = context.operations
    if not operations.worker.started:
        return 503, _said("starting", f"Worker is still starting up. {stage_text(operations.worker.stage)}")
    if operations.worker.is_out or operations.worker.is_cut_off:
        text = OUT if operations.worker.is_out else CUT_OFF
        return 500, _said("unhealthy", f"{operations.worker.kafka_trouble or ''} {text}".strip())
    try:
        await within(operations.worker.ping(), context.health_timeout_s)
    except WaitTimeoutError:
        text = "Worker was unable to handle this request and may be unable to handle other requests."
        return 500, _said("unhealthy", f"{text} {stage_text(operations.worker.stage)}")
    answer = _said("healthy", "Worker has completed startup and is ready to handle requests.")
    # A worker with overdue tasks counts as healthy: if a probe restarted it, that would help none of them.
    overdue = [
        {**found.task._asdict(), "reason": found.reason, "since_ms": found.since_ms}
        for found in operations.worker.overdue_tasks
    ]
    return 200, answer | ({"overdue_tasks": overdue} if overdue else {})


def _said(status: str, message: str) -> dict[str, Any]:
    return {"status": status, "message": message}


ROUTES = (
    Route("GET", "/", root, early=True, answers={200: Server}),
    Route("GET", "/health", health, role=Role.ANYONE, early=True, answers={200: Health, 500: Health, 503: Health}),
    Route("GET", "/health/ready", ready, role=Role.ANYONE, early=True, answers={200: Readiness, 503: Readiness}),
)
