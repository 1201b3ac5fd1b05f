"""Serves `POST /ui/connector`: restarts, pauses, resumes or stops a connector, unless it has changed since its page was
loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from aiohttp import web

from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.operations import Operations
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route
from connect.rest.server.state_changes import tell_target
from connect.rest.server.waiting import finished
from connect.rest.ui.frame.forms import FORM, OnceOnly, form_of, once_of
from connect.rest.ui.frame.links import link
from connect.rest.ui.frame.pages import HTML
from connect.rest.ui.screens.stale_forms import check_seen, check_target
from connect.rest.ui.views.numbers import cut
from connect.runtime.task.task_id import TaskId

ONCE_ONLY: Final = web.AppKey("forms_once_only", OnceOnly)
Act = Callable[[Operations, str], Future[Any]]
_ACTS: Final[Mapping[str, Act]] = {
    "restart": lambda operations, name: operations.connectors.restart(name, include_tasks=True, only_failed=False),
    "restart-failed": lambda operations, name: operations.connectors.restart(
        name, include_tasks=True, only_failed=True
    ),
}
_TARGETS: Final = {"pause": TargetState.PAUSED, "resume": TargetState.STARTED, "stop": TargetState.STOPPED}
_TASK: Final = "restart-task"
DONE: Final[Mapping[str, str]] = {
    "restart": "The connector and its tasks restart.",
    "restart-failed": "What had failed restarts.",
    "pause": "The connector pauses: its tasks keep their place.",
    "resume": "The connector goes on.",
    "stop": "The connector stops: its configuration and offsets stay.",
    _TASK: "The task restarts.",
    "saved": "The configuration is stored.",
}
"""A connector's page shows these texts after each change."""


async def act(request: web.Request) -> web.Response:
    """Do what the button says, once, and redirect to the connector's page. HttpError 409: it was changed meanwhile."""
    form = await form_of(request)
    name, (verb, _, task) = form.get("name", ""), form.get("do", "").partition(" ")
    context = context_of(request)

    async def do() -> None:
        check_seen(context.operations, context.secrets, name, form)
        check_target(context.operations, name, form)
        if verb in _TARGETS:
            tell_target(request, name, _TARGETS[verb])
        await finished(request, _asked(context.operations, name, verb, task), f"asking for a {verb} of {name}")

    await request.app[ONCE_ONLY].run(once_of(form), do)
    raise web.HTTPSeeOther(link("/connector", name=name, done=verb))


def _asked(operations: Operations, name: str, verb: str, task: str) -> Future[Any]:
    if verb in _ACTS:
        return _ACTS[verb](operations, name)
    if verb in _TARGETS:
        return operations.connectors.set_target(name, _TARGETS[verb])
    if verb == _TASK and task.isascii() and task.isdigit() and len(task) < 10:
        return operations.tasks.restart(TaskId(name, int(task)))
    raise HttpError(
        400, f"The form asks for {cut(verb, 40)!r}, which is none of {', '.join([*_ACTS, *_TARGETS, _TASK])}."
    )


ROUTES = (Route("POST", "/ui/connector", act, role=Role.OPERATOR, body=dict[str, str], produces=HTML, consumes=FORM),)
