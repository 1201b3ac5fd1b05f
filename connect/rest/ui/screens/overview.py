"""Shows all connectors with their states, rates and lags, and the workers they run on, at `/ui`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aiohttp import web

from connect.client.overview import Line, overview
from connect.rest.figures.connector_parts import connector_parts, task_ids
from connect.rest.figures.sample_window import SampleWindow
from connect.rest.figures.sampler import SAMPLER
from connect.rest.server.context import context_of
from connect.rest.server.rights import IDENTITY, visible
from connect.rest.server.routing import Route
from connect.rest.ui.frame.pages import HTML, page, rendered
from connect.rest.ui.live.stream import EVENTS, stream
from connect.rest.ui.screens.requested_connector import page_number
from connect.rest.ui.views.overview import Overview, OverviewQuery, overview_page
from connect.rest.ui.views.states import STATES, sign


async def show(request: web.Request) -> web.Response:
    """Show a page of the connectors that match the search."""
    look = await request.app[SAMPLER].look()
    found = _page_of(_gathered(request), look, _asked(request))
    return page(request, "overview.html.j2", _values(found) | {"states": STATES, "nav": "overview"})


async def live(request: web.Request) -> web.StreamResponse:
    """Send the list again whenever it has changed."""
    return await stream(request, _draw)


async def _draw(request: web.Request, look: SampleWindow) -> str:
    sampler, asked = request.app[SAMPLER], _asked(request)

    def draw() -> str:
        gathered = sampler.once(("connectors", request[IDENTITY]), lambda: _gathered(request))
        return rendered("overview_live.html.j2", _values(_page_of(gathered, look, asked)))

    return sampler.once(("overview", asked, request[IDENTITY]), draw)


def _values(found: Overview) -> dict[str, Any]:
    return {"found": found, "sign": sign}


class _Gathered(NamedTuple):
    """Holds all connectors as lines, the tasks of each, and how many tasks each worker has."""

    lines: Sequence[Line]
    tasks: Mapping[str, Sequence[str]]
    workers: Mapping[str, int]


def _gathered(request: web.Request) -> _Gathered:
    context = context_of(request)
    operations = context.operations
    parts = connector_parts(operations, visible(request, operations.connectors.names()))
    tasks = {name: task_ids(found) for name, found in parts.items()}
    rebalances = operations.history.rebalances()
    workers = Counter(dict.fromkeys((context.worker_id, *(rebalances[-1].workers if rebalances else ())), 0))
    workers.update(task["worker_id"] for found in parts.values() for task in found["status"]["tasks"])
    return _Gathered(overview(parts), tasks, workers)


def _page_of(gathered: _Gathered, look: SampleWindow, asked: OverviewQuery) -> Overview:
    return overview_page(gathered.lines, gathered.tasks, gathered.workers, look, asked)


def _asked(request: web.Request) -> OverviewQuery:
    state = request.query.get("state", "")
    return OverviewQuery(request.query.get("q", "")[:200], state if state in STATES else "", page_number(request))


ROUTES = (
    Route("GET", "/ui", show, produces=HTML),
    Route("GET", "/ui/live/overview", live, produces=EVENTS),
)
