"""Serves `/connectors`, `/connectors/{name}` and `/connectors/{name}/config`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote
from weakref import WeakValueDictionary

from aiohttp import web
from pydantic import Field

from connect.cluster.model.connector_values import Saved
from connect.cluster.model.request_errors import ChangedMeanwhileError, NotFoundError
from connect.rest.access.config_bounds import check_new_name
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.fairness.pacer import LONG_S
from connect.rest.resources.checking import ready
from connect.rest.resources.notes import notes_of_each
from connect.rest.resources.offsets import initial_offsets, outcome
from connect.rest.resources.preview import DRY_RUN, preview
from connect.rest.resources.shapes import Config, Connector, CreateConnector, Expanded, Validation
from connect.rest.server.answers import empty_answer, json_answer, shown_config, shown_info, shown_infos, status_json
from connect.rest.server.author import who
from connect.rest.server.connections import PLACE
from connect.rest.server.context import context_of
from connect.rest.server.json_body import read_config, read_create, read_texts
from connect.rest.server.rights import require, visible
from connect.rest.server.routing import Route, flag, name_of
from connect.rest.server.waiting import finished

PATCHING: Final = web.AppKey("patching", WeakValueDictionary[str, asyncio.Lock])
"""Only one request at a time may change a connector's configuration, as a PATCH writes back what it has read."""
PATCH_TRIES: Final = 5
"""A PATCH is computed anew this many times at most if each time a PUT changes the connector during its validation."""
NOTES_WANTED: Final = Annotated[
    bool, Field(description="With each status, what is worth knowing of the configuration.")
]
RESET_OFFSETS: Final = {"reset_offsets": Annotated[bool, Field(description="Stop it and forget its offsets, too.")]}


async def list_connectors(request: web.Request) -> web.Response:
    """The names of all connectors; with `expand` (info, status) a map of names to what was asked for."""
    operations = context_of(request).operations
    if "expand" not in request.query:
        return json_answer(visible(request, operations.connectors.names()))
    wanted = set(request.query.getall("expand"))
    names = visible(request, operations.connectors.names())
    notes = await notes_of_each(request, names) if _wants_notes(request, wanted) else {}
    infos = await _shown_infos(request, names) if "info" in wanted else {}
    found = {}
    began_s = time.monotonic()
    for name in names if "info" not in wanted else infos:
        with suppress(NotFoundError):  # It was deleted meanwhile.
            status = _status(request, name, notes.get(name, ())) if "status" in wanted else {}
            found[name] = status | ({"info": infos[name]} if "info" in wanted else {})
        if time.monotonic() - began_s > LONG_S:
            await request[PLACE].go_on()
            began_s = time.monotonic()
    return json_answer(found)


async def create(request: web.Request) -> web.Response:
    """Store a new connector."""
    body = await read_create(request)
    name = _trimmed(body.name or "")
    require(request, name)
    check_new_name(name)
    config = named_config(name, body.config)
    context = context_of(request)
    context.operations.worker.require_leader()
    if flag(request, "dry_run"):
        if name in context.operations.connectors.names():
            raise HttpError(409, f"Connector {name} already exists")
        return await preview(request, name, config)
    wanted = await ready(request, name, config)
    given = body.initial_offsets
    offsets = None if given is None else initial_offsets(given, context.catalog, wanted)
    creating = context.operations.connectors.create(name, wanted, body.initial_state, who(request), offsets)
    return await _saved(request, await finished(request, creating, f"setting the initial offsets of connector {name}"))


async def get(request: web.Request) -> web.Response:
    """Return a connector: its configuration, tasks and type."""
    context = context_of(request)
    return json_answer(await shown_info(request, context.operations.connectors.info(name_of(request))))


async def get_config(request: web.Request) -> web.Response:
    """A connector's configuration; secrets are masked."""
    context = context_of(request)
    return json_answer(await shown_config(request, context.operations.connectors.info(name_of(request)).config))


async def put_config(request: web.Request) -> web.Response:
    """Store a configuration, new or changed."""
    name = name_of(request)
    config = named_config(name, await read_config(request))
    context = context_of(request)
    if name not in context.operations.connectors.names():
        check_new_name(name)
    context.operations.worker.require_leader()
    if flag(request, "dry_run"):
        return await preview(request, name, config)
    given = {key: value for key, value in config.items() if value is not None}
    tries = 0
    while True:
        stored = _stored(request, name)
        wanted = await ready(request, name, config)
        # Masks were replaced by secrets of what is stored, which another request may have changed since.
        instead_of = None if wanted == given else stored
        try:
            saving = context.operations.connectors.save(name, wanted, who(request), instead_of=instead_of)
            return await _saved(request, await finished(request, saving))
        except ChangedMeanwhileError:
            tries += 1
            if tries == PATCH_TRIES:
                raise


async def patch_config(request: web.Request) -> web.Response:
    """Change some keys; null removes one."""
    name = name_of(request)
    patch = await read_texts(request)
    context = context_of(request)
    context.operations.worker.require_leader()
    async with request.app[PATCHING].setdefault(name, asyncio.Lock()):
        stored = context.operations.connectors.info(name).config
        if patch is None:
            raise HttpError(500, 'Cannot read the request, because "connectorConfigPatch" is null')
        if flag(request, "dry_run"):
            return await preview(request, name, _patched(stored, patch))
        tries = 0
        while True:
            wanted = await ready(request, name, _patched(stored, patch))
            try:
                saving = context.operations.connectors.save(name, wanted, who(request), instead_of=stored)
                saved = await finished(request, saving)
                break
            except ChangedMeanwhileError:
                # A PUT came during the validation. Its values stay, and those of the patch go on top of them.
                tries += 1
                if tries == PATCH_TRIES:
                    raise
                stored = context.operations.connectors.info(name).config
    return json_answer(await shown_info(request, saved.info))


async def delete(request: web.Request) -> web.Response:
    """Remove a connector; its offsets stay, unless `reset_offsets=true` has it stopped and its offsets forgotten."""
    operations, name = context_of(request).operations, name_of(request)
    removal = (
        operations.connectors.delete_with_offsets if flag(request, "reset_offsets") else operations.connectors.delete
    )
    await finished(request, removal(name), f"deleting connector {name}")
    return empty_answer(204)


def _stored(request: web.Request, name: str) -> Mapping[str, str] | None:
    try:
        return context_of(request).operations.connectors.info(name).config
    except NotFoundError:
        return None


def _patched(stored: Mapping[str, str], patch: Mapping[str, str | None]) -> dict[str, str]:
    """Return a configuration with the changes of a patch. Another `name` is taken as in Java, unlike in a PUT."""
    merged = {**stored, **patch}
    return {key: value for key, value in merged.items() if value is not None}


def _wants_notes(request: web.Request, wanted: set[str]) -> bool:
    """Return True if notes are asked for. Otherwise the answer has only Java's members, as clients compare such
    lists.
    """
    return "status" in wanted and flag(request, "notes")


def _status(request: web.Request, name: str, notes: Sequence[str]) -> dict[str, Any]:
    status = status_json(context_of(request).operations.connectors.status(name))
    return {"status": status | ({"notes": notes} if notes else {})}


async def _shown_infos(request: web.Request, names: Iterable[str]) -> Mapping[str, dict[str, Any]]:
    """Return the connectors that are still there, as the API shows them."""
    infos = []
    for name in names:
        with suppress(NotFoundError):  # It was deleted meanwhile.
            infos.append(context_of(request).operations.connectors.info(name))
    return {info["name"]: info for info in await shown_infos(request, infos)}


def named_config(name: str, config: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return a configuration with its connector's name. HttpError 400: the configuration has another name."""
    given = config.get("name")
    if given is not None and given != name:
        text = f"Connector name configuration ({given}) doesn't match connector name in the URL ({name})"
        raise HttpError(400, text)
    return {**config, "name": name}


def _trimmed(name: str) -> str:
    """Trim a name as Java's String.trim does: it removes spaces and control characters, but no no-break space."""
    return name.strip("".join(map(chr, range(33))))


async def _saved(request: web.Request, saved: Saved) -> web.Response:
    answer_json = await shown_info(request, saved.info)
    if saved.offsets_whole is not None:
        answer_json["offsets_status"] = outcome(whole=saved.offsets_whole, done="altered")
    answer = json_answer(answer_json, 201 if saved.created else 200)
    if saved.created:
        path = f"/connectors/{quote(saved.info.name, safe='')}"
        answer.headers["Location"] = f"{request.scheme}://{request.host}{path}"
    return answer


ROUTES = (
    Route(
        "GET", "/connectors", list_connectors, answers={200: list[str] | dict[str, Expanded]},
        query={"expand": list[Literal["info", "status"]], "notes": NOTES_WANTED},
    ),
    Route(
        "POST", "/connectors", create, role=Role.EDITOR, body=CreateConnector,
        answers={201: Connector, 200: Validation}, flags=["dry_run"], query=DRY_RUN,
    ),
    Route("GET", "/connectors/{name}", get, answers={200: Connector}),
    Route(
        "DELETE", "/connectors/{name}", delete, role=Role.EDITOR, answers={204: None},
        flags=["reset_offsets"], query=RESET_OFFSETS,
    ),
    Route("GET", "/connectors/{name}/config", get_config, answers={200: Config}),
    Route(
        "PUT", "/connectors/{name}/config", put_config, role=Role.EDITOR, body=Config,
        answers={200: Connector | Validation, 201: Connector}, flags=["dry_run"], query=DRY_RUN,
    ),
    Route(
        "PATCH", "/connectors/{name}/config", patch_config, role=Role.EDITOR, body=dict[str, str | None],
        answers={200: Connector | Validation}, flags=["dry_run"], query=DRY_RUN,
    ),
)  # fmt: skip
