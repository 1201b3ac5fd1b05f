"""Gathers the flow of a cluster from this worker's own knowledge and from Kafka."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from aiohttp import web

from connect.client.overview import overview
from connect.cluster.model.operations import Operations
from connect.cluster.model.request_errors import NotFoundError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.rest.access.role import Role
from connect.rest.figures.answer_cache import AnswerCache
from connect.rest.figures.connector_parts import connector_parts, task_ids
from connect.rest.figures.sample_window import SampleWindow, total
from connect.rest.flow.graph import ConnectorFlow, Flow, flow
from connect.rest.resources.backfills import BACKFILLS, has_role
from connect.rest.server.context import CONTEXT, context_of
from connect.rest.server.rights import visible

_KAFKA_S: Final = 5.0
_LETTERS: Final = "errors.deadletterqueue.topic.name"
Job = Mapping[str, Any]


class Found(NamedTuple):
    """Holds a graph. `not_told` names the parts that Kafka did not tell: `topics`, `backfills`."""

    flow: Flow
    not_told: Sequence[str]


class FromKafka(NamedTuple):
    """Keeps the answers of Kafka, which is asked seldom."""

    topics: AnswerCache[Mapping[str, int]]
    jobs: AnswerCache[Sequence[Job]]


FROM_KAFKA: Final = web.AppKey("flow_from_kafka", FromKafka)


async def flow_from_kafka(app: web.Application) -> AsyncIterator[None]:
    """Keep Kafka's answers as long as the application is served."""
    worker, service = app[CONTEXT].worker, app[BACKFILLS]

    def topics() -> Mapping[str, int]:
        admin = TopicAdmin(admin_settings(worker.originals, {}, f"{worker.client_prefix}-flow").properties)
        return admin.topics(Deadline.after(_KAFKA_S))

    def jobs() -> Sequence[Job]:
        found = [job for job in service.jobs() if "spec" in job]
        running = {job["name"]: job for job in service.progress([job for job in found if job["state"] == "RUNNING"])}
        return [running.get(job["name"], job) for job in found]

    app[FROM_KAFKA] = FromKafka(AnswerCache(topics), AnswerCache(jobs))
    yield


async def gathered(request: web.Request, look: SampleWindow) -> Found:
    """Return the flow of the connectors that the sender may view."""
    told = request.app[FROM_KAFKA]
    topics, jobs = await told.topics.value(), await told.jobs.value()
    not_told = [name for name, value in (("topics", topics), ("backfills", jobs)) if value is None]
    shown = [job for job in jobs or () if has_role(request, Role.VIEWER, job["spec"])]
    found = flow(_connectors(request, look), shown, topics)
    if any(node.is_there is False for node in found.nodes):
        told.topics.hurry()
    return Found(found, not_told)


def _connectors(request: web.Request, look: SampleWindow) -> list[ConnectorFlow]:
    operations = context_of(request).operations
    parts = connector_parts(operations, visible(request, operations.connectors.names()))
    found = []
    for line in overview(parts):
        try:
            config = operations.connectors.info(line.name).config
        except NotFoundError:
            continue
        tasks = task_ids(parts[line.name])
        is_sink = line.type == "sink"
        found.append(
            ConnectorFlow(
                line,
                _named(config.get("topics" if is_sink else "topic", "")),
                _used(operations, line.name),
                config.get(_LETTERS, "").strip() if is_sink else "",
                look.pace(tasks),
                total([look.rate(task, "dead_letters_total") for task in tasks]),
            )
        )
    return found


def _named(topics: str) -> list[str]:
    return [topic.strip() for topic in topics.split(",") if topic.strip()]


def _used(operations: Operations, name: str) -> Sequence[str]:
    try:
        return operations.topics.used(name)
    except NotFoundError:
        return ()
