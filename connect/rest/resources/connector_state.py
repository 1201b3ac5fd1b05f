"""Serves `/connectors/{name}/…`: status, pause, resume, stop, restart."""

from __future__ import annotations

from aiohttp import web

from connect.cluster.model.connector_values import TargetState
from connect.rest.access.role import Role
from connect.rest.resources.notes import notes_of
from connect.rest.resources.shapes import Status
from connect.rest.server.answers import empty_answer, json_answer, status_json
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route, flag, name_of
from connect.rest.server.state_changes import tell_target
from connect.rest.server.waiting import finished


async def status(request: web.Request) -> web.Response:
    """The state of a connector and of its tasks, and what is worth knowing of its configuration."""
    name = name_of(request)
    found = status_json(context_of(request).operations.connectors.status(name))
    notes = await notes_of(request, name)
    return json_answer(found | ({"notes": notes} if notes else {}))


async def pause(request: web.Request) -> web.Response:
    """Pause a connector: its tasks rest, and keep their place."""
    return await _target(request, TargetState.PAUSED, 202)


async def resume(request: web.Request) -> web.Response:
    """Resume a connector that is paused or stopped."""
    return await _target(request, TargetState.STARTED, 202)


async def stop(request: web.Request) -> web.Response:
    """Stop a connector: its tasks end, its configuration and offsets stay."""
    return await _target(request, TargetState.STOPPED, 204)


async def restart(request: web.Request) -> web.Response:
    """Restart the connector (204), or what the flags select (202 with its status)."""
    operations, name = context_of(request).operations, name_of(request)
    include_tasks, only_failed = flag(request, "includeTasks"), flag(request, "onlyFailed")
    if not include_tasks and not only_failed:
        doing = f"asking connector {name} for its tasks, to restart it"
        await finished(request, operations.connectors.restart_connector(name), doing)
        return empty_answer(204)
    future = operations.connectors.restart(name, include_tasks=include_tasks, only_failed=only_failed)
    return json_answer(status_json(await finished(request, future)), 202)


async def _target(request: web.Request, target: TargetState, code: int) -> web.Response:
    tell_target(request, name_of(request), target)
    await finished(request, context_of(request).operations.connectors.set_target(name_of(request), target))
    return empty_answer(code)


ROUTES = (
    Route("GET", "/connectors/{name}/status", status, answers={200: Status}),
    Route("PUT", "/connectors/{name}/pause", pause, role=Role.OPERATOR, answers={202: None}),
    Route("PUT", "/connectors/{name}/resume", resume, role=Role.OPERATOR, answers={202: None}),
    Route("PUT", "/connectors/{name}/stop", stop, role=Role.OPERATOR, answers={204: None}),
    Route(
        "POST", "/connectors/{name}/restart", restart, role=Role.OPERATOR, answers={202: Status, 204: None},
        query={"includeTasks": bool, "onlyFailed": bool},
    ),
)  # fmt: skip
