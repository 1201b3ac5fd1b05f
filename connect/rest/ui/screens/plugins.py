"""Shows the installed plug-ins at `/ui/plugins`, and the keys of each as validation knows them."""

from __future__ import annotations

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError
from connect.cluster.validation.definitions import all_definitions
from connect.plugins.catalog import LISTED
from connect.rest.resources.plugins import plugin_of
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.views.plugins import by_group, by_kind


async def show(request: web.Request) -> web.Response:
    """Show all plug-ins, and those that could not be used."""
    catalog, text = context_of(request).catalog, request.query.get("q", "")[:200]
    groups = by_kind(list(catalog.plugins(*LISTED)), text)
    return page(
        request, "plugins.html.j2", {"nav": "plugins", "groups": groups, "broken": list(catalog.broken()), "text": text}
    )


async def show_one(request: web.Request) -> web.Response:
    """Show the keys of a plug-in. NotFoundError: there is no such plug-in."""
    name = request.query.get("class", "")
    if not name:
        raise NotFoundError("The address names no plug-in.")
    plugin = plugin_of(request, name)
    groups = by_group(all_definitions(plugin))
    return page(request, "plugin.html.j2", {"nav": "plugins", "plugin": plugin, "groups": groups})


ROUTES = (
    Route("GET", "/ui/plugins", show, produces=HTML, early=True),
    Route("GET", "/ui/plugin", show_one, produces=HTML, early=True),
)
