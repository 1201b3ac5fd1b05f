"""`POST /ui/connector`: restart, pause, resume or stop what a page shows, if it still is what the page showed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from aiohttp import web

from connect.cluster.model.operations import ConfigVersion, Operations, RequestError, TargetState
from connect.rest.resources.preview import changes
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route
from connect.rest.server.secrets import Secrets
from connect.rest.server.waiting import finished
from connect.rest.ui.frame.forms import FORM, OnceOnly, form_of, once_of
from connect.rest.ui.frame.links import link
from connect.rest.ui.frame.pages import HTML
from connect.rest.ui.views.numbers import cut
from connect.runtime.task.messages import TaskId

ONCE_ONLY: Final = web.AppKey("forms_once_only", OnceOnly)
Act = Callable[[Operations, str], Future[Any]]
_ACTS: Final[Mapping[str, Act]] = {
    "restart": lambda operations, name: operations.restart(name, include_tasks=True, only_failed=False),
    "restart-failed": lambda operations, name: operations.restart(name, include_tasks=True, only_failed=True),
    "pause": lambda operations, name: operations.set_target(name, TargetState.PAUSED),
    "resume": lambda operations, name: operations.set_target(name, TargetState.STARTED),
    "stop": lambda operations, name: operations.set_target(name, TargetState.STOPPED),
}
_TASK: Final = "restart-task"
DONE: Final[Mapping[str, str]] = {
    "restart": "The connector and its tasks restart.",
    "restart-failed": "What had failed restarts.",
    "pause": "The connector pauses: its tasks keep their place.",
    "resume": "The connector goes on.",
    "stop": "The connector stops: its configuration and offsets stay.",
    _TASK: "The task restarts.",
}
"""What a page says after each of them."""
_SHOWN: Final = 20
_VALUE_CHARS: Final = 200


async def act(request: web.Request) -> web.Response:
    """Do what the button says, once, and lead back to the connector's page. 409: it was changed meanwhile."""
    form = await form_of(request)
    name, (verb, _, task) = form.get("name", ""), form.get("do", "").partition(" ")
    context = context_of(request)

    async def do() -> None:
        check_seen(context.operations, context.secrets, name, form.get("seen", ""))
        await finished(request, _asked(context.operations, name, verb, task), f"asking for a {verb} of {name}")

    await request.app[ONCE_ONLY].run(once_of(form, verb, task), do)
    raise web.HTTPSeeOther(link("/connector", name=name, done=verb))


def _asked(operations: Operations, name: str, verb: str, task: str) -> Future[Any]:
    if verb in _ACTS:
        return _ACTS[verb](operations, name)
    if verb == _TASK and task.isascii() and task.isdigit() and len(task) < 10:
        return operations.restart_task(TaskId(name, int(task)))
    raise RequestError(400, f"The form asks for {cut(verb, 40)!r}, which is none of {', '.join([*_ACTS, _TASK])}.")


def version_of(operations: Operations, name: str) -> str:
    """Return what tells a connector's configuration from every other that it had. NotFoundError."""
    return _mark(operations.config_versions(name)[-1])


def check_seen(operations: Operations, secrets: Secrets, name: str, seen: str) -> None:
    """RequestError 409 says what has changed since a page showed version `seen`; empty: nothing was shown.

    NotFoundError: the connector was deleted.
    """
    versions = operations.config_versions(name)
    if not seen or _mark(versions[-1]) == seen:
        return
    now = versions[-1]
    shown = next((version for version in versions if _mark(version) == seen), None)
    by = f", by {now.author.who}" if now.author is not None else ""
    said = [f"Connector {name} was changed after this page was loaded (now version {now.version}{by})."]
    if shown is None:
        said.append("The version that the page showed is no longer kept, or another connector has taken its name.")
    else:
        said += _differences(shown, now, secrets)
    raise RequestError(409, "\n".join([*said, "Nothing was done. Load the page again and decide anew."]))


def _differences(shown: ConfigVersion, now: ConfigVersion, secrets: Secrets) -> list[str]:
    found = changes(shown.config, now.config, secrets)
    lines = [
        *(f"added: {key} = {cut(value, _VALUE_CHARS)}" for key, value in found["added"].items()),
        *(
            f"changed: {key} from {cut(pair['from'], _VALUE_CHARS)} to {cut(pair['to'], _VALUE_CHARS)}"
            for key, pair in found["changed"].items()
        ),
        *(f"removed: {key}" for key in found["removed"]),
    ]
    return [*lines[:_SHOWN], *([f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else [])]


def _mark(version: ConfigVersion) -> str:
    changed_ms = "" if version.author is None else version.author.changed_ms
    return f"{version.version}.{changed_ms}"


ROUTES = (Route("POST", "/ui/connector", act, body=dict[str, str], produces=HTML, consumes=FORM),)
