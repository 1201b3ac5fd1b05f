"""Shows sources, topics, sinks and backfills as one graph at `/ui/flow`: as a picture, and as a table."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from connect.rest.figures.sample_window import SampleWindow
from connect.rest.figures.sampler import SAMPLER
from connect.rest.flow.gathering import Found, gathered
from connect.rest.server.rights import IDENTITY
from connect.rest.server.routing import Route
from connect.rest.ui.frame.pages import HTML, page, rendered
from connect.rest.ui.live.stream import EVENTS, stream
from connect.rest.ui.screens.requested_connector import page_number
from connect.rest.ui.views.flow import FlowQuery, flow_page
from connect.rest.ui.views.flow_picture import NODE_HEIGHT, NODE_WIDTH
from connect.rest.ui.views.states import sign


async def show(request: web.Request) -> web.Response:
    """Show the part of the graph that was asked for."""
    look = await request.app[SAMPLER].look()
    values = _values(await gathered(request, look), look, _asked(request))
    return page(request, "flow.html.j2", values | {"nav": "flow"})


async def live(request: web.Request) -> web.StreamResponse:
    """Send the graph again whenever it has changed."""
    return await stream(request, _draw)


async def _draw(request: web.Request, look: SampleWindow) -> str:
    asked = _asked(request)
    found = await gathered(request, look)
    drawn = ("flow", asked, request[IDENTITY])
    return request.app[SAMPLER].once(drawn, lambda: rendered("flow_live.html.j2", _values(found, look, asked)))


def _values(found: Found, look: SampleWindow, asked: FlowQuery) -> dict[str, Any]:
    return {
        "found": flow_page(found.flow, asked), "not_told": found.not_told, "silent": look.silent, "sign": sign,
        "box_width": NODE_WIDTH, "box_height": NODE_HEIGHT,
    }  # fmt: skip


def _asked(request: web.Request) -> FlowQuery:
    return FlowQuery(request.query.get("q", "")[:200], page_number(request))


ROUTES = (
    Route("GET", "/ui/flow", show, produces=HTML),
    Route("GET", "/ui/live/flow", live, produces=EVENTS),
)
