"""Creates and changes connectors at `/ui/edit`; before storing, it shows all broken keys and what would change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.cluster.validation.definitions import all_definitions
from connect.rest.access.config_bounds import check_new_name
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError, status_of
from connect.rest.resources.checking import ready
from connect.rest.resources.connectors import PATCHING, named_config
from connect.rest.resources.plugins import plugin_of
from connect.rest.resources.preview import previewed
from connect.rest.server.answers import shown_config
from connect.rest.server.author import who
from connect.rest.server.context import context_of
from connect.rest.server.json_body import json_of, parsed, texts_of
from connect.rest.server.routing import Route
from connect.rest.server.waiting import finished
from connect.rest.ui.frame.forms import FORM, form_of, once_of
from connect.rest.ui.frame.links import link
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.screens.actions import ONCE_ONLY
from connect.rest.ui.screens.stale_forms import check_seen, save_unless_changed, version_of
from connect.rest.ui.views.edit import Preview, preview_of, refused

NEW: Final = "new"
"""A form has this instead of a version if its page showed no connector, as there was none of that name."""


class _Wanted(NamedTuple):
    """Holds what a form asks for: a name, the text of the configuration, and the version that the page showed."""

    name: str
    text: str
    seen: str


async def show(request: web.Request) -> web.Response:
    """Show a connector's configuration for editing, or an empty one of a plug-in. NotFoundError: neither exists."""
    context, name = context_of(request), request.query.get("name", "")
    if name:
        config = await shown_config(request, context.operations.connectors.info(name).config)
        wanted = _Wanted(name, _text(config), version_of(context.operations, context.secrets, name))
    else:
        wanted = _Wanted("", _text(_first_keys(request)), NEW)
    return _page(request, wanted, None)


async def change(request: web.Request) -> web.Response:
    """Tell what is wrong and what would change, or store it. HttpError 409: somebody has changed it since the page was
    loaded.
    """
    form = await form_of(request)
    wanted, do = _Wanted(form.get("name", "").strip(), form.get("config", ""), form.get("seen", "")), form.get("do", "")
    context_of(request).operations.worker.require_leader()
    if do not in {"check", "apply"}:
        raise HttpError(400, "The form asks for neither check nor apply.")
    if do == "check":
        try:
            config = await _config(request, wanted)
        except HttpError as error:
            # The page keeps the text that was typed.
            return _page(request, wanted, refused(error.message), error.status)
        _check(request, wanted)
        return _page(request, wanted, preview_of(await previewed(request, wanted.name, config)))

    config = await _config(request, wanted)

    async def act() -> None:
        async with request.app[PATCHING].setdefault(wanted.name, asyncio.Lock()):
            _check(request, wanted)
            stored = await ready(request, wanted.name, config)
            # Somebody may have changed or made the connector during the validation.
            if wanted.seen == NEW:
                await finished(
                    request, context_of(request).operations.connectors.create(wanted.name, stored, None, who(request))
                )
            else:
                await save_unless_changed(request, wanted.name, stored, {"seen": wanted.seen})

    await request.app[ONCE_ONLY].run(once_of(form), act)
    raise web.HTTPSeeOther(link("/connector", name=wanted.name, done="saved"))


def _page(request: web.Request, wanted: _Wanted, preview: Preview | None, status: int = 200) -> web.Response:
    values: dict[str, Any] = {
        "name": wanted.name, "text": wanted.text, "seen": wanted.seen, "is_new": wanted.seen == NEW,
        "preview": preview, "nav": "new" if wanted.seen == NEW else "", "tab": "edit",
    }  # fmt: skip
    return page(request, "edit.html.j2", values, status)


def _check(request: web.Request, wanted: _Wanted) -> None:
    context = context_of(request)
    if wanted.seen != NEW:
        check_seen(context.operations, context.secrets, wanted.name, {"seen": wanted.seen})
        return
    if wanted.name in context.operations.connectors.names():
        raise HttpError(
            409,
            f"Connector {wanted.name} already exists. Nothing was done. Change it on its own page, or choose another "
            "name.",
        )
    if not wanted.name:
        raise HttpError(400, "The connector has no name. Nothing was done.")
    check_new_name(wanted.name)


async def _config(request: web.Request, wanted: _Wanted) -> dict[str, str | None]:
    """Return the keys of a form's text; if it is `{"name", "config"}`, those of the config. HttpError 400: it is no
    configuration.
    """
    try:
        return named_config(wanted.name, await parsed(request, wanted.text.encode(), _inner_texts))
    except RequestError as error:
        raise HttpError(400 if status_of(error) == 500 else status_of(error), error.message) from None


def _inner_texts(data: bytes) -> dict[str, str | None]:
    body = json_of(data)
    inner = body.get("config") if isinstance(body, dict) else None
    return texts_of(inner if isinstance(inner, dict) else body)


def _first_keys(request: web.Request) -> Mapping[str, str]:
    """Return the keys that a plug-in requires, with the values that are known already."""
    name = request.query.get("class", "")
    if not name:
        return {"connector.class": "", "tasks.max": "1"}
    try:
        definitions = all_definitions(plugin_of(request, name))
    except NotFoundError:
        return {"connector.class": name, "tasks.max": "1"}
    needed = {one.name: one.default_value or "" for one in definitions if one.required and one.name != "name"}
    return {"connector.class": name, "tasks.max": "1"} | {k: v for k, v in needed.items() if k != "connector.class"}


def _text(config: Mapping[str, str]) -> str:
    return json.dumps({key: config[key] for key in config if key != "name"}, indent=2, ensure_ascii=False)


ROUTES = (
    Route("GET", "/ui/edit", show, produces=HTML),
    Route("POST", "/ui/edit", change, role=Role.EDITOR, body=dict[str, str], produces=HTML, consumes=FORM),
)
