"""Tells which connector, and which page of a list, a request is about."""

from __future__ import annotations

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError


def named(request: web.Request) -> str:
    """Return the connector that a request is about. NotFoundError: it names none."""
    name = request.query.get("name")
    if not name:
        raise NotFoundError("The address names no connector.")
    return name


def page_number(request: web.Request) -> int:
    """Return the number of the page of a list that is asked for; the first page is 1."""
    number = request.query.get("page", "1")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
