"""Serves `/connectors/{name}/why`: sentences on why a connector is idle, behind or failed."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from aiohttp import web

from connect.client.reasons import reasons
from connect.rest.resources.notes import notes_of
from connect.rest.resources.own_shapes import Reason
from connect.rest.server.answers import json_answer, status_json
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route, name_of
from connect.rest.server.waiting import finished


async def why(request: web.Request) -> web.Response:
    """Sentences about the connector and each task: state, what it waits for, lag; and notes on the configuration."""
    context, name = context_of(request), name_of(request)
    status = status_json(context.operations.connectors.status(name))
    offsets = await finished(request, context.operations.offsets.read(name), f"reading the offsets of connector {name}")
    found = await asyncio.to_thread(context.operations.tasks.figures)
    figures = {str(task["id"]): found.get(f"{name}-{task['id']}", {}) for task in status["tasks"]}
    stored = [asdict(offset) for offset in offsets]
    status["notes"] = await notes_of(request, name)
    planned = [task.task for task in context.operations.connectors.info(name).tasks]
    return json_answer([asdict(reason) for reason in reasons(status, stored, figures, planned)])


ROUTES = (Route("GET", "/connectors/{name}/why", why, answers={200: list[Reason]}),)
