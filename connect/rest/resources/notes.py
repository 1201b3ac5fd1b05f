"""Collects notes for a connector's status: of its configuration, which are looked up once, and of its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from aiohttp import web

from connect.api.errors import ConnectError
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.cluster.validation.size import is_large
from connect.rest.server.answers import task_notes
from connect.rest.server.author import asker_of
from connect.rest.server.context import RestContext, context_of
from connect.rest.server.waiting import MASKING, WaitTimeoutError, apart, finished, large, within

LOOK_S: Final = 2.0
_MOST: Final = 10_000
_LARGE_AT_ONCE: Final = 4


class ConnectorNotes(NamedTuple):
    """Holds the notes of a configuration, and the configuration itself, to notice when it changes."""

    config: Mapping[str, str]
    notes: tuple[str, ...]


NOTED: Final = web.AppKey("noted", dict[str, ConnectorNotes])


async def notes_of(request: web.Request, name: str) -> tuple[str, ...]:
    """Return the notes of a connector's configuration and of its tasks, without secrets.

    NotFoundError: there is no such connector.
    """
    config = context_of(request).operations.connectors.info(name).config
    noted = request.app[NOTED]
    known = noted.get(name)
    if known is None or known.config != config:
        if len(noted) >= _MOST:
            noted.clear()  # forget the notes of connectors that were deleted, too
        if is_large(config):
            await _note_in_host(request, name, config)
        else:
            found = await finished(request, apart(_notes, context_of(request), config), f"looking at connector {name}")
            noted[name] = ConnectorNotes(dict(config), found)
        known = noted.get(name, ConnectorNotes(config, ()))
    try:
        status = context_of(request).operations.connectors.status(name)
    except NotFoundError:  # it is so new that no task has reported anything yet
        return known.notes
    return *known.notes, *task_notes(status)


async def notes_of_each(request: web.Request, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the notes of several connectors by name, without secrets.

    Configurations that could not be checked within `LOOK_S` seconds are left out, and all but a few large ones, too. So
    a cluster of a thousand connectors answers in time, and the next answers have the rest.
    """
    operations, noted = context_of(request).operations, request.app[NOTED]
    configs = {}
    for name in names:
        with suppress(NotFoundError):  # It was deleted meanwhile.
            configs[name] = operations.connectors.info(name).config
    unknown = {name: c for name, c in configs.items() if name not in noted or noted[name].config != c}
    if unknown:
        large_ones = [name for name, config in unknown.items() if is_large(config)]
        asked = asyncio.gather(*(_note_in_host(request, name, unknown[name]) for name in large_ones[:_LARGE_AT_ONCE]))
        small = {name: config for name, config in unknown.items() if name not in large_ones}
        with suppress(WaitTimeoutError):
            await within(apart(_note_each, context_of(request), small, noted), LOOK_S)
        await asked
    found = {}
    for name, config in configs.items():
        known = noted.get(name)
        if known is not None and known.config == config:
            with suppress(NotFoundError):
                found[name] = (*known.notes, *task_notes(operations.connectors.status(name)))
    return found


async def _note_in_host(request: web.Request, name: str, config: Mapping[str, str]) -> None:
    """Look up the notes of a large configuration in a task host. They stay unknown if it does not answer in time."""
    context = context_of(request)
    try:
        infos = await within(context.operations.trials.validate(config, LOOK_S, asker_of(request)), LOOK_S)
        found = (await large(request, MASKING, context.secrets.mask_infos, infos, config)).notes
    except RequestError:
        found = ()  # its class is not installed any more, and its tasks say so
    except (WaitTimeoutError, TimeoutError, ConnectError):
        return
    request.app[NOTED][name] = ConnectorNotes(dict(config), found)


def _note_each(
    context: RestContext, configs: Mapping[str, Mapping[str, str]], noted: dict[str, ConnectorNotes]
) -> None:
    for name, config in configs.items():
        noted[name] = ConnectorNotes(dict(config), _notes(context, config))


def _notes(context: RestContext, config: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return context.secrets.mask_infos(context.validator.validate(config), config).notes
    except RequestError:
        return ()  # its class is not installed any more, and its tasks say so
