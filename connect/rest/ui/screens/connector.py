"""Serves `/ui/connector`: a connector's tasks with their figures, why it stands still, its configuration and its
topics.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from aiohttp import web

from connect.client.reasons import reasons
from connect.cluster.model.request_errors import NotFoundError
from connect.rest.access.role import Role
from connect.rest.figures.sample_window import SampleWindow
from connect.rest.figures.sampler import SAMPLER
from connect.rest.resources.notes import notes_of
from connect.rest.server.answers import shown_config, status_json
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route
from connect.rest.ui.frame.pages import HTML, may_change, page, rendered
from connect.rest.ui.live.offsets_seen import OFFSETS_SEEN
from connect.rest.ui.live.stream import EVENTS, stream
from connect.rest.ui.screens.actions import DONE
from connect.rest.ui.screens.requested_connector import named
from connect.rest.ui.screens.stale_forms import version_of
from connect.rest.ui.views.connector import TOPICS, LiveState, settings, standing
from connect.rest.ui.views.plot import plot
from connect.rest.ui.views.states import sign

TEXT: Final = "text/plain"
_UNKNOWN: Final[list[dict[str, Any]]] = [{}]
"""Stands for offsets that Kafka did not tell in time: the page then says nothing about offsets."""


async def show(request: web.Request) -> web.Response:
    """Show a connector. NotFoundError: there is no such connector."""
    context, name = context_of(request), named(request)
    info = context.operations.connectors.info(name)
    look = await request.app[SAMPLER].look()
    topics = list(context.operations.topics.used(name)) if context.worker.topic_tracking_enable else None
    values = await _values(request, look) | {
        "name": name, "nav": "", "tab": "now", "class": info.config.get("connector.class", ""),
        "settings": settings(await shown_config(request, info.config)),
        "topics": None if topics is None else topics[:TOPICS], "more_topics": max(0, len(topics or ()) - TOPICS),
        "seen": version_of(context.operations, context.secrets, name),
        "done": DONE.get(request.query.get("done", ""), ""),
    }  # fmt: skip
    return page(request, "connector.html.j2", values)


async def live(request: web.Request) -> web.StreamResponse:
    """Send the parts of the page that change whenever they have changed."""
    context_of(request).operations.connectors.info(named(request))
    return await stream(request, _draw)


async def trace(request: web.Request) -> web.Response:
    """Send a whole trace as text. NotFoundError: the failure is over by now."""
    name, task = named(request), request.query.get("task", "")
    status = context_of(request).operations.connectors.status(name)
    part = status.tasks.get(int(task)) if task.isascii() and task.isdigit() and len(task) < 10 else status.connector
    if part is None or not part.trace:
        raise NotFoundError(f"Connector {name} has no trace there any more: it goes on, or has failed anew elsewhere.")
    return web.Response(text=part.trace, content_type=TEXT, charset="utf-8")


async def _draw(request: web.Request, look: SampleWindow) -> str:
    values = await _values(request, look)
    drawn = ("connector", named(request), values["may_operate"])
    return request.app[SAMPLER].once(drawn, lambda: rendered("connector_live.html.j2", values))


async def _values(request: web.Request, look: SampleWindow) -> dict[str, Any]:
    found = await _standing(request, look)
    target = context_of(request).operations.connectors.info(named(request)).target
    return {
        "found": found, "target": str(target), "sign": sign,
        "rate_plot": plot(found.rates), "lag_plot": plot(found.lags),
        "may_operate": may_change(request, Role.OPERATOR, named(request)),
    }  # fmt: skip


async def _standing(request: web.Request, look: SampleWindow) -> LiveState:
    context, name = context_of(request), named(request)
    info = context.operations.connectors.info(name)
    try:
        status = status_json(context.operations.connectors.status(name))
    except NotFoundError:
        status = {"name": name, "connector": {"state": "UNASSIGNED", "worker_id": ""}, "tasks": [], "type": info.type}
    offsets = await request.app[OFFSETS_SEEN].of(name)
    stored = _UNKNOWN if offsets is None else [asdict(offset) for offset in offsets]
    figures = {str(task["id"]): look.figures(f"{name}-{task['id']}") for task in status["tasks"]}
    notes = await notes_of(request, name)
    planned = [task.task for task in info.tasks]
    return standing(status, reasons(status | {"notes": notes}, stored, figures, planned), look)


ROUTES = (
    Route("GET", "/ui/connector", show, produces=HTML),
    Route("GET", "/ui/connector/trace", trace, produces=TEXT),
    Route("GET", "/ui/live/connector", live, produces=EVENTS),
)
