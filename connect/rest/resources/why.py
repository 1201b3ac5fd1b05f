"""Serves `/connectors/{name}/why`: sentences on why a connector is idle, behind or failed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict
from typing import Final

from aiohttp import web

from connect.api.errors import ConnectError
from connect.client.reasons import reasons
from connect.cluster.model.connector_values import PartitionOffset
from connect.cluster.model.request_errors import RequestError
from connect.rest.resources.notes import notes_of
from connect.rest.resources.own_shapes import Reason
from connect.rest.server.answers import json_answer, status_json
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route, name_of
from connect.rest.server.waiting import WaitTimeoutError, within

OFFSETS_S: Final = 2.0
"""Is how long the answer waits for the offsets, in seconds."""


async def why(request: web.Request) -> web.Response:
    """Sentences about the connector and each task: state, what it waits for, lag; and notes on the configuration."""
    context, name = context_of(request), name_of(request)
    status = status_json(context.operations.connectors.status(name))
    offsets = await _offsets(context.operations.offsets.read(name))
    found = await asyncio.to_thread(context.operations.tasks.figures)
    figures = {str(task["id"]): found.get(f"{name}-{task['id']}", {}) for task in status["tasks"]}
    stored = offsets if isinstance(offsets, str) else [asdict(offset) for offset in offsets]
    status["notes"] = await notes_of(request, name)
    planned = [task.task for task in context.operations.connectors.info(name).tasks]
    return json_answer([asdict(reason) for reason in reasons(status, stored, figures, planned)])


async def _offsets(reading: Future[Sequence[PartitionOffset]]) -> Sequence[PartitionOffset] | str:
    """Return the offsets, or why they are not known: the state of the tasks is told without them, too."""
    try:
        return await within(reading, OFFSETS_S)
    except WaitTimeoutError:
        return f"Kafka did not tell them within {OFFSETS_S:.0f} s."
    except (ConnectError, RequestError) as error:
        return error.message


ROUTES = (Route("GET", "/connectors/{name}/why", why, answers={200: list[Reason]}),)
