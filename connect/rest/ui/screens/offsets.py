"""Shows the offsets of a connector at `/ui/offsets`, and sets or forgets them after a preview while it is STOPPED."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.cluster.model.request_errors import RequestError
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError, status_of
from connect.rest.resources.connectors import PATCHING
from connect.rest.resources.offsets import outcome, sink_offsets, source_offsets
from connect.rest.server.context import context_of
from connect.rest.server.json_body import json_of, offsets_of, parsed
from connect.rest.server.routing import Route
from connect.rest.server.state_changes import tell_offsets
from connect.rest.server.waiting import finished
from connect.rest.ui.frame.forms import FORM, form_of, once_of
from connect.rest.ui.frame.links import link
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.screens.actions import ONCE_ONLY
from connect.rest.ui.screens.requested_connector import named
from connect.rest.ui.screens.stale_forms import RESTS, check_seen, required, version_of
from connect.rest.ui.views.numbers import cut
from connect.rest.ui.views.offsets import ROWS, OffsetChange, as_text, mark, offset_changes, shown

_MESSAGE_CHARS: Final = 800
_DONE: Final[Mapping[str, str]] = {
    f"{done}{suffix}": outcome(whole=not suffix, done=done) for done in ("altered", "reset") for suffix in ("", "-own")
}


async def show(request: web.Request) -> web.Response:
    """Show the stored offsets. NotFoundError: there is no such connector."""
    return await _page(request, named(request))


async def change(request: web.Request) -> web.Response:
    """Tell what the given offsets would change, or write or forget them. HttpError 409: the offsets have moved
    meanwhile.
    """
    form = await form_of(request)
    name, do = form.get("name", ""), form.get("do", "")
    context_of(request).operations.worker.require_leader()
    if do == "preview":
        stored = await _stored(request, name)
        _check(request, name, stored, form)
        text = form.get("offsets", "")
        try:
            given = await _given(request, name, form)
            found = offset_changes(stored, given, await _unknown(request, name, given))
        except HttpError as error:
            # The page keeps the text that was typed.
            return await _page(request, name, text, wrong=error)
        return await _page(request, name, text, changes=found)

    async def act() -> tuple[str, Sequence[str]]:
        # If two forms come at once, the second one sees what the first has written.
        async with request.app[PATCHING].setdefault(name, asyncio.Lock()):
            _check(request, name, await _stored(request, name), form)
            return await _act(request, name, do, form)

    done, notes = await request.app[ONCE_ONLY].run(once_of(form), act)
    if notes:
        # No link has room for these sentences, and another worker may answer it.
        return await _page(request, name, done=done, notes=notes)
    raise web.HTTPSeeOther(link("/offsets", name=name, done=done))


async def _act(request: web.Request, name: str, do: str, form: Mapping[str, str]) -> tuple[str, Sequence[str]]:
    """Write or forget offsets. Return the key of what is said of it, and the connector's notes on what was given."""
    operations = context_of(request).operations
    if do == "apply":
        given = await _given(request, name, form)
        await tell_offsets(request, name, given)
        altering = operations.offsets.alter(name, given)
        done = await finished(request, altering, f"altering the offsets of connector {name}")
        return "altered" if done.is_whole else "altered-own", done.notes
    if do != "reset":
        raise HttpError(400, "The form asks for neither preview, apply nor reset.")
    if form.get("confirm", "") != name:
        raise HttpError(400, "To forget all offsets, type the connector's name as it is. Nothing was done.")
    await tell_offsets(request, name, None)
    whole = await finished(request, operations.offsets.reset(name), f"resetting the offsets of connector {name}")
    return "reset" if whole else "reset-own", ()


async def _page(
    request: web.Request,
    name: str,
    text: str | None = None,
    *,
    changes: Sequence[OffsetChange] | None = None,
    wrong: HttpError | None = None,
    done: str = "",
    notes: Sequence[str] = (),
) -> web.Response:
    operations = context_of(request).operations
    stored = await _stored(request, name)
    rows = [(shown(one.partition), "–" if one.offset is None else shown(one.offset)) for one in stored[:ROWS]]
    values: dict[str, Any] = {
        "name": name, "nav": "", "tab": "offsets", "rows": rows, "count": len(stored), "changes": changes,
        "is_stopped": operations.connectors.info(name).target is TargetState.STOPPED, "seen_offsets": mark(stored),
        "seen": version_of(operations, context_of(request).secrets, name),
        "text": as_text(stored[:ROWS]) if text is None else text,
        "done": _DONE.get(done or request.query.get("done", ""), ""),
        "notes": [cut(note, _MESSAGE_CHARS) for note in notes],
        "wrong": "" if wrong is None else cut(wrong.message, _MESSAGE_CHARS),
    }  # fmt: skip
    return page(request, "offsets.html.j2", values, 200 if wrong is None else wrong.status)


async def _stored(request: web.Request, name: str) -> Sequence[PartitionOffset]:
    reading = context_of(request).operations.offsets.read(name)
    return await finished(request, reading, f"reading the offsets of connector {name}")


async def _given(request: web.Request, name: str, form: Mapping[str, str]) -> list[PartitionOffset]:
    try:
        entries = await parsed(request, form.get("offsets", "").encode(), lambda data: offsets_of(json_of(data)))
        is_sink = context_of(request).operations.connectors.info(name).type == "sink"
        return sink_offsets(entries) if is_sink else source_offsets(entries)
    except RequestError as error:
        raise HttpError(400 if status_of(error) == 500 else status_of(error), error.message) from None


async def _unknown(request: web.Request, name: str, given: Sequence[PartitionOffset]) -> Sequence[PartitionOffset]:
    asking = context_of(request).operations.offsets.unknown(name, given)
    try:
        return await finished(request, asking, f"asking which partitions connector {name} has")
    except RequestError as error:
        raise HttpError(400 if status_of(error) == 500 else status_of(error), error.message) from None


def _check(request: web.Request, name: str, stored: Sequence[PartitionOffset], form: Mapping[str, str]) -> None:
    """Raise HttpError 409 if the connector runs, is another one, or has other offsets than the form's page showed."""
    context = context_of(request)
    check_seen(context.operations, context.secrets, name, form)
    target = context.operations.connectors.info(name).target
    if target is not TargetState.STOPPED:
        raise HttpError(
            409,
            f"Connector {name} is {RESTS[target]}, and offsets can be changed while it is STOPPED. Nothing was done. "
            f"Stop it on its page, or by `connect connectors stop {name}`, and load this page again.",
        )
    if required(form, "seen_offsets") != mark(stored):
        raise HttpError(
            409,
            f"The offsets of connector {name} have moved since this page was loaded. Nothing was done. "
            "Load the page again and decide anew.",
        )


ROUTES = (
    Route("GET", "/ui/offsets", show, produces=HTML),
    Route("POST", "/ui/offsets", change, role=Role.OPERATOR, body=dict[str, str], produces=HTML, consumes=FORM),
)
