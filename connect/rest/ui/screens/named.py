"""Tells which connector a page is about."""

from __future__ import annotations

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError


def named(request: web.Request) -> str:
    """Return the connector that a request is about. NotFoundError: it names none."""
    name = request.query.get("name")
    if not name:
        raise NotFoundError("The address names no connector.")
    return name
