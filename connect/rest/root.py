"""`GET /` and `GET /health`."""

from __future__ import annotations

from aiohttp import web

from connect.cluster.operations import Operations
from connect.rest.answers import json_answer
from connect.rest.context import context_of
from connect.rest.routing import Route
from connect.rest.waiting import WaitTimeoutError, stage_text, within

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
    cluster = context.operations.kafka_cluster_id
    return json_answer({"version": context.version, "commit": context.commit, "kafka_cluster_id": cluster})


async def health(request: web.Request) -> web.Response:
    """200 when the herder answers, 503 while it starts, 500 when it does not in time or the worker lost its group.

    With 200 come the tasks of the cluster, if any, that should run and do not.
    """
    context = context_of(request)
    operations = context.operations
    if not operations.started:
        return _health("starting", f"Worker is still starting up. {stage_text(operations.stage)}", 503)
    if operations.is_out or operations.is_cut_off:
        text = OUT if operations.is_out else CUT_OFF
        return _health("unhealthy", f"{operations.kafka_trouble or ''} {text}".strip(), 500)
    try:
        await within(operations.ping(), context.health_timeout_s)
    except WaitTimeoutError:
        text = "Worker was unable to handle this request and may be unable to handle other requests."
        return _health("unhealthy", f"{text} {stage_text(operations.stage)}", 500)
    return _health("healthy", "Worker has completed startup and is ready to handle requests.", 200, operations)


def _health(status: str, message: str, code: int, operations: Operations | None = None) -> web.Response:
    answer: dict[str, object] = {"status": status, "message": message}
    overdue = operations.overdue_tasks if operations is not None else ()
    if overdue:
        # The worker is healthy all the same: ending it, as a probe would, helps none of these tasks.
        answer["overdue_tasks"] = [
            {**found.task._asdict(), "reason": found.reason, "since_ms": found.since_ms} for found in overdue
        ]
    return json_answer(answer, code)


ROUTES = (Route("GET", "/", root, early=True), Route("GET", "/health", health, early=True))
