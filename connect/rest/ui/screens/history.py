"""Shows the history of a connector at `/ui/history`: old configurations with their differences, and a way back to
each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web

from connect.cluster.model.history import ConfigVersion
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.checking import ready
from connect.rest.resources.connectors import PATCHING
from connect.rest.resources.history import changes_of_each, version_called
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route
from connect.rest.server.secrets import Secrets
from connect.rest.server.waiting import MASKING, of_configs
from connect.rest.ui.frame.forms import FORM, form_of, once_of
from connect.rest.ui.frame.links import link
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.screens.actions import ONCE_ONLY
from connect.rest.ui.screens.requested_connector import named
from connect.rest.ui.screens.stale_forms import change_lines, check_seen, save_unless_changed, version_of
from connect.rest.ui.views.numbers import cut, moment
from connect.rest.ui.views.states import sign

_STATES: Final = 50
"""The page shows this many changes of state, the newest first."""


async def show(request: web.Request) -> web.Response:
    """Show the versions, newest first, and the last changes of states and workers. NotFoundError: there is no such
    connector.
    """
    context, name = context_of(request), named(request)
    operations, done = context.operations, request.query.get("done", "")
    states = [
        {
            "when": moment(change.changed_ms), "task": change.task, "state": change.status.state.value,
            "worker": change.status.worker_id, "cause": cut((change.status.trace or "").partition("\n")[0], 300),
        }
        for change in reversed(operations.history.state_changes(name)[-_STATES:])
    ]  # fmt: skip
    versions = operations.history.config_versions(name)
    rebalances = [
        {"when": moment(one.changed_ms), "leader": one.leader, "workers": one.workers}
        for one in reversed(operations.history.rebalances())
    ]
    values = {
        "name": name, "nav": "", "tab": "history", "sign": sign, "states": states, "rebalances": rebalances,
        "versions": await of_configs(
            request, (one.config for one in versions), MASKING, _versions, versions, context.secrets
        ),
        "seen": version_of(operations, context.secrets, name),
        "done": done if done.isascii() and done.isdigit() else "",
    }  # fmt: skip
    return page(request, "history.html.j2", values)


async def roll_back(request: web.Request) -> web.Response:
    """Store an old version again, as `PUT …/rollback/N` does. HttpError 409: it was changed after the page was
    loaded.
    """
    form = await form_of(request)
    name, (verb, _, number) = form.get("name", ""), form.get("do", "").partition(" ")
    context = context_of(request)
    if verb != "rollback":
        raise HttpError(400, "The form asks for no version to go back to.")
    context.operations.worker.require_leader()

    async def act() -> None:
        async with request.app[PATCHING].setdefault(name, asyncio.Lock()):
            check_seen(context.operations, context.secrets, name, form)
            config = version_called(context.operations.history.config_versions(name), name, number).config
            wanted = await ready(request, name, dict(config))
            # Somebody may have changed the connector while the old version was tried.
            await save_unless_changed(request, name, wanted, form)

    await request.app[ONCE_ONLY].run(once_of(form), act)
    raise web.HTTPSeeOther(link("/history", name=name, done=number))


def _versions(versions: Sequence[ConfigVersion], secrets: Secrets) -> list[dict[str, Any]]:
    shown = [secrets.mask(version.config) for version in versions]
    differences = [[] if found is None else change_lines(found) for found in changes_of_each(versions, shown)]
    found = [
        {
            "number": version.version,
            "when": "" if version.author is None else moment(version.author.changed_ms),
            "who": "" if version.author is None else version.author.who,
            "lines": lines,
        }
        for version, lines in zip(versions, differences, strict=True)
    ]
    return found[::-1]


ROUTES = (
    Route("GET", "/ui/history", show, produces=HTML),
    Route("POST", "/ui/history", roll_back, role=Role.EDITOR, body=dict[str, str], produces=HTML, consumes=FORM),
)
