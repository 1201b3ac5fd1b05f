"""Shows live rows of a connector before and after each transform at `/ui/sample`."""

from __future__ import annotations

from aiohttp import web

from connect.client.sampled_rows import is_same
from connect.rest.access.role import Role
from connect.rest.sample.resource import ROWS, ROWS_MAX, sampled
from connect.rest.server.routing import Route
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.screens.requested_connector import named


async def show(request: web.Request) -> web.Response:
    """Show as many rows as the request asks for. NotFoundError: there is no such connector. HttpError 409: the rows
    cannot be read.
    """
    name, rows = named(request), request.query.get("rows", str(ROWS))
    found = await sampled(request, name, rows)
    values = {
        "name": name, "nav": "", "tab": "sample", "rows": int(rows), "rows_max": ROWS_MAX, "found": found,
        "is_same": is_same,
    }  # fmt: skip
    return page(request, "sample.html.j2", values)


ROUTES = (Route("GET", "/ui/sample", show, role=Role.OPERATOR, produces=HTML),)
