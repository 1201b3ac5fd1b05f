"""Serves `/connectors/{name}/topics…`: the topics that a connector has used."""

from __future__ import annotations

from aiohttp import web

from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.shapes import UsedTopics
from connect.rest.server.answers import empty_answer, json_answer
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route, name_of
from connect.rest.server.waiting import finished


async def get_topics(request: web.Request) -> web.Response:
    """Return the topics that a connector used since the last reset; none for an unknown connector."""
    _check_tracked(request)
    name = name_of(request)
    return json_answer({name: {"topics": list(context_of(request).operations.topics.used(name))}})


async def reset_topics(request: web.Request) -> web.Response:
    """Forget the topics that a connector used."""
    _check_tracked(request)
    context = context_of(request)
    if not context.worker.topic_tracking_allow_reset:
        raise HttpError(403, "Topic tracking reset is disabled.")
    await finished(request, context.operations.topics.reset(name_of(request)))
    return empty_answer(202)


def _check_tracked(request: web.Request) -> None:
    if not context_of(request).worker.topic_tracking_enable:
        raise HttpError(403, "Topic tracking is disabled.")


ROUTES = (
    Route("GET", "/connectors/{name}/topics", get_topics, answers={200: dict[str, UsedTopics]}),
    Route("PUT", "/connectors/{name}/topics/reset", reset_topics, role=Role.OPERATOR, answers={202: None}),
)
