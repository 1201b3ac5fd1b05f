"""Serves the files that pages need: one style sheet, one script, one picture. Pages load no files from elsewhere."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Final

from aiohttp import hdrs, web

from connect.rest.server.routing import Route
from connect.rest.ui.frame.links import link

_KINDS: Final = {"ui.css": "text/css", "ui.js": "text/javascript", "icon.svg": "image/svg+xml"}


def asset_url(name: str) -> str:
    """Return the address of a file; it has a hash of the content, so that a changed file has a new address."""
    return link(f"/{name}", v=hashlib.sha256(_bytes(name)).hexdigest()[:12])


def _route(name: str, kind: str) -> Route:
    async def asset(_: web.Request) -> web.Response:
        response = web.Response(body=_bytes(name), content_type=kind, charset="utf-8")
        response.headers[hdrs.CACHE_CONTROL] = "private, max-age=86400"
        return response

    return Route("GET", f"/ui/{name}", asset, produces=kind, early=True)


@cache
def _bytes(name: str) -> bytes:
    return resources.files("connect.rest.ui").joinpath("static", name).read_bytes()


ROUTES = tuple(_route(name, kind) for name, kind in _KINDS.items())
